// JSON-RPC over HTTP to one node: requests made at once are sent as one batch, except what asks for a range of blocks.
import { HttpRequestError, ResponseBodyTooLargeError, RpcRequestError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { fetchBounded } from "./bounded-answers.ts";
import { isContractFailure } from "./call-failures.ts";

/** The most requests in a batch. */
const MAX_BATCH = 50;
/** So many batches of the size that a node takes, before one of twice the size is tried. */
const UNTIL_LARGER = 100;
/** The size of an answer, in bytes: all logs of a large block. */
const MAX_ANSWER_BYTES = 32_000_000;

/** Of Nethermind: how the call has failed stands in the data. */
const FAILED_CALL = -32015;

/** The JSON-RPC error of an answer. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number | undefined;

  /** By the specification an object with code and message. Nodes also send plain text, or something else. */
  constructor(error: unknown) {
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    const texts = code === FAILED_CALL ? [data, message] : [message, error];
    const text = texts.find((one) => typeof one === "string");
    super(text ?? JSON.stringify(error));
    this.code = typeof code === "number" ? code : undefined;
  }
}

/** The node refuses requests together, which it may take in smaller batches. */
export class BatchRefused extends Error {
  override readonly name = "BatchRefused";
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
  /** The most requests in a batch, less where the node has refused so many. */
  #max = MAX_BATCH;
  /** Batches of so many that it has taken since. */
  #taken = 0;
  /** No two batches are alike, so that no cache on the way answers one. */
  #nextId = 1;

  constructor(url: string, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }) {
    this.#client = getHttpRpcClient(url, {
      timeout: timeoutMs,
      fetchFn: fetchBounded,
      maxResponseBodySize: MAX_ANSWER_BYTES,
      // A redirect would not be counted, and may lead anywhere.
      fetchOptions: { signal, redirect: "error" },
    });
  }

  /**
   * The result. Throws an `RpcError`, a `BatchRefused` where it may be asked again at once, or an error of viem's where
   * there is no JSON-RPC answer.
   */
  request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push({ method, params, resolve, reject });
    return promise;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const small = waiting.filter((one) => !isRange(one));
    const batches = waiting.filter(isRange).map((one) => [one]);
    for (let at = 0; at < small.length; at += this.#max) {
      batches.push(small.slice(at, at + this.#max));
    }
    for (const batch of batches) {
      this.#send(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(this.#refusalOf(batch, error) ?? error);
      });
    }
  }

  /** What is refused together is asked in smaller batches, until many of them were taken. */
  #refusalOf({ length }: readonly Waiting[], error: unknown): BatchRefused | undefined {
    const isRefused =
      error instanceof WholeRefusal || error instanceof RpcRequestError
        ? !isOverLimit(error)
        : error instanceof ResponseBodyTooLargeError ||
          (error instanceof HttpRequestError && TOO_MUCH.includes(error.status ?? 0));
    if (length === 1 || !isRefused) return undefined;
    this.#max = Math.min(this.#max, Math.floor(length / 2));
    this.#taken = 0;
    return new BatchRefused((error as Error).message);
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const first = this.#nextId;
    this.#nextId += batch.length;
    const body = batch.map(({ method, params }, at) => ({ id: first + at, method, params }));
    // A node that takes no batches takes one request.
    const [alone] = body;
    const answers =
      body.length === 1 && alone !== undefined
        ? [await this.#client.request({ body: alone })].flat()
        : await this.#client.request({ body });
    const found = inOrder(answers as readonly (Answer | null)[], first, batch.length);
    if (batch.length === this.#max && (this.#taken += 1) >= UNTIL_LARGER) {
      this.#max = Math.min(2 * this.#max, MAX_BATCH);
      this.#taken = 0;
    }
    for (const [at, { resolve, reject }] of batch.entries()) {
      const { result, error } = found[at] ?? {};
      if (error === undefined || error === null) resolve(result);
      else reject(new RpcError(error));
    }
  }
}

const OVER_LIMIT =
  /rate.?limit|request limit|too many requests|exceeded.*(capacity|compute|quota|throughput)|request count/i;

/** Whether a node's error says that too many requests were made lately. */
export function isOverLimit(error: RpcError | RpcRequestError): boolean {
  const reason = error instanceof RpcError ? error.message : error.details;
  // A contract gives any reason that it likes.
  if (isContractFailure(reason.slice(0, LONGEST_TEXT))) return false;
  return error.code === 429 || OVER_LIMIT.test(reason.slice(0, LONGEST_TEXT));
}

/** As much of a node's text as is looked at. */
export const LONGEST_TEXT = 2000;

/** Statuses of a batch that is too much, or that is no request to this node. */
const TOO_MUCH = [400, 413];

/** A node may refuse a wide range, and whatever is beside it in a batch. */
const isRange = ({ method, params: [filter] }: Waiting): boolean =>
  method === "eth_getLogs" && Object.hasOwn(Object(filter) as object, "fromBlock");

/** One error for a whole batch. */
class WholeRefusal extends RpcError {}

/**
 * Answers come in any order: the id of each names its request. Only the error of a whole batch, which viem gives once
 * for each request, needs no id.
 */
function inOrder(answers: readonly (Answer | null)[], first: number, count: number) {
  const [one] = answers;
  if (one?.error !== undefined && answers.every((answer) => answer === one)) {
    if (count > 1) throw new WholeRefusal(one.error);
    return answers;
  }
  const byId = new Map(answers.map((answer) => [String(answer?.id), answer]));
  const found = Array.from({ length: count }, (_, at) => byId.get(String(first + at)));
  if (answers.length === count && !found.includes(undefined)) return found;
  throw new Error("the answers of the batch do not have the ids of its requests");
}
