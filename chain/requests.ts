// JSON-RPC requests to the nodes of one chain: tried in turn, retried with backoff, bounded in number a second.
import { unescape } from "node:querystring";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpRequestError, ResponseBodyTooLargeError, RpcRequestError } from "viem";
import { BatchRefused, isOverLimit, JsonRpc, LONGEST_TEXT, RpcError } from "./json-rpc.ts";
import { readChainId } from "./node-answers.ts";

export interface RequestsOptions {
  urls: readonly string[];
  /** The most requests a second. Default 50. */
  perSecond?: number | undefined;
  /** How long one request may take, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Wait before the first retry, in milliseconds; it doubles with each. */
  backoffMs?: number | undefined;
  signal: AbortSignal;
  /** Is called for each request that is over. */
  onRequest?: ((method: string, outcome: Outcome) => void) | undefined;
}

export type Outcome = "ok" | "refused" | "limited" | "failed";

/** The node has answered with a JSON-RPC error: another time it would say the same. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** In the node's words. */
  readonly reason: string;
  readonly code: number | undefined;
  /** Host and port of the node. */
  readonly host: string;

  constructor(method: string, { reason, code, host }: Pick<Refused, "reason" | "code" | "host">) {
    super(`${method}: ${reason}`);
    this.reason = reason;
    this.code = code;
    this.host = host;
  }
}

/** No node has given an answer that can be used. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The node refuses the range, or fails on it; `suggested` is the last block that it would take. */
export class RangeRefused extends Error {
  override readonly name = "RangeRefused";
  readonly suggested: number | undefined;

  constructor(message: string, suggested?: number) {
    super(message);
    this.suggested = suggested;
  }
}

const PER_SECOND = 50;
const TIMEOUT_MS = 20_000;
const BACKOFF_MS = 125;
const LONGEST_WAIT_MS = 10_000;
/** How often each URL is tried for one answer. */
const ROUNDS = 4;

const TOO_LARGE = /size|too large/i;

/** Reads a result of the node with this host; throws where it has not the form that it must have. */
export type Read<T> = (result: unknown, host: string) => T;

export class Requests {
  readonly #options: RequestsOptions;
  readonly #nodes: Node[];
  #chainId: number | undefined;
  #current = 0;
  #nextSlot = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
    const { urls, timeoutMs = TIMEOUT_MS, signal } = options;
    this.#nodes = urls.map((url) => ({
      host: URL.parse(url)?.host ?? "the node",
      secrets: secretsOf(url),
      rpc: new JsonRpc(url, { timeoutMs, signal }),
      ofChain: undefined,
    }));
  }

  /** How many URLs there are. */
  get size(): number {
    return this.#nodes.length;
  }

  /** The id of the chain; undefined before two answers have agreed on it. */
  get chainId(): number | undefined {
    return this.#chainId;
  }

  /** Which URL is asked now. */
  get current(): number {
    return this.#current;
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
        await (node.ofChain ??= this.#checkChain(node).catch((error: unknown) => {
          node.ofChain = undefined;
          throw error;
        }));
        await this.#slot();
        const answer = read(await node.rpc.request(method, params), node.host);
        onRequest?.(method, "ok");
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof BatchRefused) {
          onRequest?.(method, "refused");
          // The next batch is smaller.
          attempt -= 1;
          continue;
        }
        const { outcome, code, retryAfterMs = 0, ...explained } = explain(error);
        const reason = shown(explained.reason, node);
        onRequest?.(method, outcome);
        if (outcome === "refused")
          refusal ??= new Refused(method, { reason, code, host: node.host });
        if (refusal !== undefined && (triedSinceRefusal += 1) >= this.size) throw refusal;
        last = `${method} at ${node.host}: ${reason}`;
        node.ofChain = undefined;
        wait = Math.max(wait, retryAfterMs);
        if (this.#current === asked) this.askElsewhere();
      }
      await sleep(wait, undefined, { signal });
    }
    throw new Unavailable(last);
  }

  /** Throws where the node is of another chain, or which chain it is cannot be known. */
  async #checkChain(node: Node): Promise<void> {
    const id = await this.#askChain(node);
    const confirmed = this.#chainId ?? (await this.#confirmed(id, node));
    // A check of another node may have ended first.
    this.#chainId ??= confirmed;
    if (id === this.#chainId) return;
    const other =
      this.#chainId === undefined ? "by one answer alone" : `and not of ${this.#chainId}`;
    throw new Error(`it is of the chain ${id}, ${other}`);
  }

  /**
   * The first id that came twice, when each other node was asked, and then this one again. A database keeps the id for
   * good, so that one wrong answer must not say it.
   */
  async #confirmed(first: number, node: Node): Promise<number | undefined> {
    const at = this.#nodes.indexOf(node);
    const given = new Set([first]);
    for (const other of [...this.#nodes.slice(at + 1), ...this.#nodes.slice(0, at + 1)]) {
      const id = await this.#askChain(other).catch((error: unknown) => {
        this.#options.onRequest?.("eth_chainId", explain(error).outcome);
        return undefined;
      });
      if (id !== undefined && given.has(id)) return id;
      if (id !== undefined) given.add(id);
    }
    return undefined;
  }

  async #askChain({ rpc }: Node): Promise<number> {
    await this.#slot();
    const id = readChainId(await rpc.request("eth_chainId"));
    this.#options.onRequest?.("eth_chainId", "ok");
    return id;
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

interface Node {
  /** Host and port. */
  host: string;
  secrets: readonly string[];
  rpc: JsonRpc;
  /** Resolves where it is of the chain; undefined where that is to be asked, as after each failure. */
  ofChain: Promise<void> | undefined;
}

interface Explained {
  outcome: Outcome;
  /** Anything that a node sends. */
  reason: string;
  /** The code of a JSON-RPC error. */
  code?: number | undefined;
  retryAfterMs?: number;
}

function explain(error: unknown): Explained {
  if (error instanceof RpcError || error instanceof RpcRequestError) {
    const { code } = error;
    const reason = error instanceof RpcError ? error.message : error.details;
    return { outcome: isOverLimit(error) ? "limited" : "refused", reason, code };
  }
  if (error instanceof ResponseBodyTooLargeError) {
    return { outcome: "refused", reason: "the answer is too large" };
  }
  const { message, details = message } = error as Error & { details?: string };
  if (!(error instanceof HttpRequestError) || error.status === undefined) {
    return { outcome: "failed", reason: details };
  }
  const { status, headers } = error;
  const reason = `status ${status}, ${details}`;
  if (status === 413 || (status === 400 && TOO_LARGE.test(reason))) {
    return { outcome: "refused", reason };
  }
  const seconds = Number(headers?.get("retry-after") ?? 0);
  const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : 0;
  return { outcome: status === 429 ? "limited" : "failed", reason, retryAfterMs };
}

/** The first line of a node's text, without URLs and without what is secret in the node's own. */
function shown(text: string, { secrets }: Node): string {
  let line = text.slice(0, LONGEST_TEXT).split("\n", 1)[0] ?? "";
  line = line.replace(/\w+:\/\/\S+/g, "(a URL)");
  for (const secret of secrets) line = line.replaceAll(secret, "…");
  return line.slice(0, 300);
}

/** A word of a path or a query that may be a key, as the project's name in `/v3/…` is none. */
const SHORTEST_KEY = 6;

/** What no message may repeat of a URL: user, password, and what may be a key in path and query. */
function secretsOf(url: string): string[] {
  const { username = "", password = "", pathname = "", searchParams } = URL.parse(url) ?? {};
  const [user, word] = [unescape(username), unescape(password)];
  const basic = Buffer.from(`${user}:${word}`).toString("base64");
  const keys = [...pathname.split("/"), ...(searchParams?.values() ?? [])];
  const credentials = username === "" ? [] : [username, password, user, word, basic];
  return [...credentials, ...keys.filter(({ length }) => length >= SHORTEST_KEY)]
    .filter((secret) => secret !== "")
    .sort((one, other) => other.length - one.length);
}

const TOO_MUCH = /time(d )?out|took too long|too (large|many)|limit|exceed/i;

/** Whatever a node has against a range of blocks, it may take a smaller one. */
export function refusedRange(error: unknown): unknown {
  const isTooMuch = error instanceof Unavailable && TOO_MUCH.test(error.message);
  if (!(error instanceof Refused) && !isTooMuch) return error;
  const [, , end] = /\[0x([0-9a-f]+),\s*0x([0-9a-f]+)\]/i.exec(error.message) ?? [];
  return new RangeRefused(error.message, end === undefined ? undefined : Number(`0x${end}`));
}
