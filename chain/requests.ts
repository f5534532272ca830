// JSON-RPC requests to the nodes of one chain: tried in turn, retried with backoff, bounded in number a second.
import { setTimeout as sleep } from "node:timers/promises";
import {
  BaseError,
  http,
  HttpRequestError,
  ResponseBodyTooLargeError,
  RpcRequestError,
} from "viem";

export interface RequestsOptions {
  urls: readonly string[];
  /** The most requests a second. Default 50. */
  perSecond?: number | undefined;
  /** How long one request may take, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Wait before the first retry, in milliseconds; it doubles with each. */
  backoffMs?: number | undefined;
  signal: AbortSignal;
  /** Hears of each request that is over. */
  onRequest?: ((method: string, outcome: Outcome) => void) | undefined;
}

export type Outcome = "ok" | "refused" | "limited" | "failed";

/** The node has answered with a JSON-RPC error: another time it would say the same. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: number | undefined;

  constructor(method: string, message: string, code?: number) {
    super(`${method}: ${message}`);
    this.code = code;
  }
}

/** No node has given an answer that can be used. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

const PER_SECOND = 50;
const TIMEOUT_MS = 20_000;
const BACKOFF_MS = 125;
const LONGEST_WAIT_MS = 10_000;
/** How often each URL is tried for one answer. */
const ROUNDS = 4;
/** The size of an answer, in bytes: all logs of a large block. */
const MAX_ANSWER_BYTES = 32_000_000;

const OVER_LIMIT =
  /rate.?limit|request limit|too many requests|exceeded.*(capacity|compute|quota|throughput)|request count/i;
const TOO_LARGE = /size|too large/i;

/** Reads a result; throws where it has not the form that it must have. */
export type Read<T> = (result: unknown) => T;

export class Requests {
  readonly #options: RequestsOptions;
  readonly #nodes: Node[];
  #chainId: string | undefined;
  #current = 0;
  #nextSlot = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#nodes = options.urls.map((url) => ({
      url,
      isOfChain: false,
      send: http(url, {
        // One HTTP request for what is asked at once, so that one node behind a balancer answers it.
        batch: { batchSize: 50 },
        retryCount: 0,
        timeout: options.timeoutMs ?? TIMEOUT_MS,
        maxResponseBodySize: MAX_ANSWER_BYTES,
        // A redirect would not be counted, and may lead anywhere.
        fetchOptions: { signal: options.signal, redirect: "error" },
      })({}).request,
    }));
  }

  /** How many URLs there are. */
  get size(): number {
    return this.#nodes.length;
  }

  /** Names the node that is asked now, without what its URL may hold of secrets. */
  get node(): string {
    return shownNode(this.#nodes[this.#current]?.url ?? "");
  }

  /** Asks another node from now on, where there is one. */
  askElsewhere(): void {
    this.#current = (this.#current + 1) % this.#nodes.length;
  }

  /**
   * The answer to a request. A node that fails, is over its limit, or answers in no form that `read` takes is
   * left for the next one. Throws `Refused` for a JSON-RPC error when each other node was tried once,
   * `Unavailable` where all have failed.
   */
  async ask<T>(method: string, params: readonly unknown[], read: Read<T>): Promise<T> {
    const { signal, backoffMs = BACKOFF_MS, onRequest } = this.#options;
    let last = "";
    let refusal: Refused | undefined;
    let triedSinceRefusal = 0;
    for (let attempt = 0; attempt < ROUNDS * this.size; attempt += 1) {
      signal.throwIfAborted();
      const asked = this.#current;
      const node = this.#nodes[asked];
      if (node === undefined) break;
      let wait = Math.min(backoffMs * 2 ** Math.floor(attempt / this.size), LONGEST_WAIT_MS);
      try {
        await this.#checkChain(node);
        await this.#slot();
        const answer = read(await node.send({ method, params } as never));
        onRequest?.(method, "ok");
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        const { outcome, reason, code, retryAfterMs = 0 } = explain(error);
        onRequest?.(method, outcome);
        if (outcome === "refused")
          refusal ??= new Refused(method, withoutPath(reason, node.url), code);
        if (refusal !== undefined && (triedSinceRefusal += 1) >= this.size) throw refusal;
        last = `${method} at ${shownNode(node.url)}: ${withoutPath(reason, node.url)}`;
        node.isOfChain = false;
        wait = Math.max(wait, retryAfterMs);
        if (this.#current === asked) this.askElsewhere();
      }
      await sleep(wait, undefined, { signal });
    }
    throw new Unavailable(last);
  }

  /** Throws where the node is of another chain than the first that has answered. */
  async #checkChain(node: Node): Promise<void> {
    if (node.isOfChain) return;
    await this.#slot();
    const id = String(await node.send({ method: "eth_chainId" } as never));
    this.#chainId ??= id;
    if (id !== this.#chainId) {
      throw new Error(`it is of the chain ${Number(id)}, and not of ${Number(this.#chainId)}`);
    }
    node.isOfChain = true;
  }

  /** Waits until a request may be sent. */
  async #slot(): Promise<void> {
    const { perSecond = PER_SECOND, signal } = this.#options;
    const now = performance.now();
    // What was not used of the last second may be used at once, so that a batch is one.
    const slot = Math.max(now - 1000, this.#nextSlot);
    this.#nextSlot = slot + 1000 / perSecond;
    if (slot > now) await sleep(slot - now, undefined, { signal });
  }
}

/** Host and port: a path or user may hold a key. */
const shownNode = (url: string): string => URL.parse(url)?.host ?? "the node";

/** A node's text without the path of its URL, which may be a key. */
function withoutPath(text: string, url: string): string {
  const { pathname = "/" } = URL.parse(url) ?? {};
  return pathname.length > 1 ? text.replaceAll(pathname, "/…") : text;
}

interface Node {
  url: string;
  send: ReturnType<ReturnType<typeof http>>["request"];
  /** Whether it is of the chain; it is asked again after each failure. */
  isOfChain: boolean;
}

interface Explained {
  outcome: Outcome;
  reason: string;
  /** The code of a JSON-RPC error. */
  code?: number;
  retryAfterMs?: number;
}

function explain(error: unknown): Explained {
  // viem wraps what it gets, by the code of the error.
  const cause = error instanceof BaseError ? error.walk(isOfNode) : null;
  if (cause instanceof RpcRequestError) {
    const { code } = cause;
    const reason = oneLine(cause.details);
    return {
      outcome: code === 429 || OVER_LIMIT.test(reason) ? "limited" : "refused",
      reason,
      code,
    };
  }
  if (cause instanceof ResponseBodyTooLargeError) {
    return { outcome: "refused", reason: "the answer is too large" };
  }
  if (cause instanceof HttpRequestError && cause.status !== undefined) {
    const { status, headers, details } = cause;
    const reason = `status ${status}, ${oneLine(details)}`;
    if (status === 413 || (status === 400 && TOO_LARGE.test(reason))) {
      return { outcome: "refused", reason };
    }
    const seconds = Number(headers?.get("retry-after") ?? 0);
    const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : 0;
    return { outcome: status === 429 ? "limited" : "failed", reason, retryAfterMs };
  }
  const { message, details } = error as Error & { details?: string };
  return { outcome: "failed", reason: oneLine(details ?? message) };
}

const isOfNode = (error: unknown): boolean =>
  error instanceof RpcRequestError ||
  error instanceof HttpRequestError ||
  error instanceof ResponseBodyTooLargeError;

/** The first line of a text, which may be anything that a node sends, without URLs: they may hold keys. */
const oneLine = (text: unknown): string =>
  String(text)
    .split("\n", 1)[0]
    ?.slice(0, 300)
    .replace(/\w+:\/\/\S+/g, "(a URL)") ?? "";
