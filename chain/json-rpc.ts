// JSON-RPC over HTTP to one node: requests made at once are sent as one batch.
import { getHttpRpcClient } from "viem/utils";

/** The most requests in a batch. */
const MOST = 50;
/** The size of an answer, in bytes: all logs of a large block. */
const MAX_ANSWER_BYTES = 32_000_000;

/** The JSON-RPC error of an answer. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number | undefined;

  /** By the specification an object with code and message. Nodes also send plain text, or something else. */
  constructor(error: unknown) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const text = [message, error].find((one) => typeof one === "string");
    super(text ?? JSON.stringify(error));
    this.code = typeof code === "number" ? code : undefined;
  }
}

interface Waiting {
  method: string;
  params: readonly unknown[];
  resolve: (result: unknown) => void;
  reject: (reason: unknown) => void;
}

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: unknown;
}

export class JsonRpc {
  readonly #client: ReturnType<typeof getHttpRpcClient>;
  #waiting: Waiting[] = [];
  /** No two batches are alike, so that no cache on the way answers one. */
  #nextId = 1;

  constructor(url: string, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }) {
    this.#client = getHttpRpcClient(url, {
      timeout: timeoutMs,
      maxResponseBodySize: MAX_ANSWER_BYTES,
      // A redirect would not be counted, and may lead anywhere.
      fetchOptions: { signal, redirect: "error" },
    });
  }

  /** The result. Throws an `RpcError`, or an error of viem's where there is no JSON-RPC answer. */
  request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push({ method, params, resolve, reject });
    return promise;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += MOST) {
      const batch = waiting.slice(at, at + MOST);
      this.#send(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
    }
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const first = this.#nextId;
    this.#nextId += batch.length;
    const body = batch.map(({ method, params }, at) => ({ id: first + at, method, params }));
    const answers = (await this.#client.request({ body })) as readonly (Answer | null)[];
    const found = inOrder(answers, first, batch.length);
    for (const [at, { resolve, reject }] of batch.entries()) {
      const { result, error } = found[at] ?? {};
      if (error === undefined || error === null) resolve(result);
      else reject(new RpcError(error));
    }
  }
}

/**
 * Answers come in any order: the id of each tells its request. Only the error of a whole batch, which viem gives once
 * for each request, needs no id.
 */
function inOrder(answers: readonly (Answer | null)[], first: number, count: number) {
  const [one] = answers;
  if (one?.error !== undefined && answers.every((answer) => answer === one)) return answers;
  const byId = new Map(answers.map((answer) => [String(answer?.id), answer]));
  const found = Array.from({ length: count }, (_, at) => byId.get(String(first + at)));
  if (answers.length === count && !found.includes(undefined)) return found;
  throw new Error("the answers of the batch do not have the ids of its requests");
}
