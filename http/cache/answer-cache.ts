// Caches answers while the data do not change; equal requests in flight share one answer.
import { LRUCache } from "lru-cache";
import { hash } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import type { Database } from "../../db/connect.ts";
import { encodingFor, sendAnswer, type Answer } from "../answer.ts";
import { isBehindOwn } from "../behind-own.ts";
import { DataLocked, TookTooLong } from "../errors.ts";
import { isShortJson, readBody } from "../short-body.ts";
import { clientFacing } from "../refusal.ts";
import { isTooOld, stateOf, type RequestState, type Step } from "../request.ts";
import { KnownVersion, type DataVersion } from "../../market/data-version.ts";

export interface CacheOptions {
  /** Maximum size. */
  bytes: number;
  /** Milliseconds after which the version of the data is read again; 0 reads it for each request. */
  checkMs: number;
  /** Asked for the version: the same server as that of the answers. Default: the service's pool. */
  versionFrom?: Database;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

export interface AnswerCacheOptions extends CacheOptions {
  versionFrom: Database;
  /** Maximum size of a GraphQL body. */
  bodyBytes: number;
  /** What decides the answer to a GET or HEAD, beside its encoding, of the first that knows it; others are not cached. */
  questions: readonly ((req: IncomingMessage) => string | undefined)[];
  log: (error: unknown) => void;
}

/** Makes an answer; undefined for one that must not be shared. */
type Make = () => Promise<Answer | undefined>;

/** An answer in flight, and the request that it is made for. */
interface InFlight {
  promise: Promise<Answer | undefined>;
  of: RequestState;
}

/** Of an answer beside its texts and its body, roughly, by measurement. */
const OVERHEAD_BYTES = 1024;

/** Larger answers are not cached. */
const LARGEST_SHARE = 1 / 8;

/** Of answers as of past blocks: whoever asks for one after the other leaves those of the head where they are. */
const PAST_SHARE = 1 / 8;

/** Without a head, figures depend on the clock: this is their maximum age. */
const CLOCK_MS = 1000;

/**
 * Answers to GET and HEAD of some paths, and to POST /graphql. Only successes are cached and shared.
 * The key is what decides their bytes: the question or the SHA-256 of the body, and what was negotiated.
 * An answer in flight is in no bounded cache, so nothing can evict it; and what fails one request, as its
 * client's limit or a lost connection, fails no other: those that waited for it ask for themselves.
 *
 * The version of the data is read before an answer is made, so the answer is never older. A new version
 * or schema clears the cache: a write anywhere may change any answer.
 */
export class AnswerCache {
  readonly #kept: LRUCache<string, Answer>;
  readonly #past: LRUCache<string, Answer>;
  /** Of the current version, by key. Requests in flight bound their number. */
  readonly #inFlight = new Map<string, InFlight>();
  readonly #versions: KnownVersion;
  readonly #now: () => number;
  readonly #bodyBytes: number;
  readonly #questions: AnswerCacheOptions["questions"];
  #version = "";

  constructor({
    bytes,
    bodyBytes,
    questions,
    versionFrom,
    checkMs,
    log,
    now = () => performance.now(),
  }: AnswerCacheOptions) {
    const ofPast = Math.floor(bytes * PAST_SHARE);
    this.#kept = keptIn(bytes - ofPast);
    this.#past = keptIn(ofPast);
    this.#versions = new KnownVersion({ db: versionFrom, checkMs, log, now });
    this.#now = now;
    this.#bodyBytes = bodyBytes;
    this.#questions = questions;
  }

  get bytes(): number {
    return this.#kept.calculatedSize + this.#past.calculatedSize;
  }

  get size(): number {
    return this.#kept.size + this.#past.size;
  }

  /** Answers in flight still go to those that wait for them, but to no other request, and are not kept. */
  clear(): void {
    this.#kept.clear();
    this.#past.clear();
    this.#inFlight.clear();
  }

  /** Stands in front of Express, which takes longer than a cache hit. */
  readonly answering: Step = (next) => (req, res) => {
    const { method, url = "" } = req;
    const state = stateOf(req);
    const answerBy = (key: string): void => {
      const go = (version?: DataVersion): void => this.#answerAt(version, key, req, res, next);
      const version = this.#versions.known();
      if (version !== undefined) go(version);
      else void this.#versions.ask().then(go);
    };
    if (method === "GET" || method === "HEAD") {
      let question: string | undefined;
      for (const questionOf of this.#questions) question ??= questionOf(req);
      if (question === undefined) next(req, res);
      else answerBy(`${question}\n${encodingFor(req, "gzip")}`);
    } else if (
      method === "POST" &&
      state.isForGraphql &&
      !url.includes("?") &&
      isShortJson(req, this.#bodyBytes)
    ) {
      readBody(req, (body) => {
        state.body = body;
        const { accept = "" } = req.headers;
        const asked = hash("sha256", body, "base64url");
        // GraphQL reads the head only for a request that asks for a block.
        const of = `${state.minBlock === undefined ? "" : "\nhead"}${budgetOf(state)}`;
        answerBy(`${asked}\n${accept}\n${encodingFor(req, "br", "gzip")}${of}`);
      });
    } else next(req, res);
  };

  #answerAt(
    version: DataVersion | undefined,
    key: string,
    req: IncomingMessage,
    res: ServerResponse,
    next: RequestListener,
  ): void {
    const state = stateOf(req);
    // Without the version no cached answer is known to be right.
    if (version !== undefined) {
      const { text, hasHead } = version;
      const current = hasHead ? text : `${text} ${Math.floor(this.#now() / CLOCK_MS)}`;
      if (current !== this.#version) this.clear();
      this.#version = current;
      const known = this.#kept.get(key) ?? this.#past.get(key);
      if (known !== undefined && isTooOld(state, known.block)) {
        // The version is older than the block that the request has waited for: its answer is not shared.
        next(req, res);
        return;
      }
      if (known !== undefined) {
        noteAnswer(state, "hit", known);
        sendAnswer(req, res, known);
        return;
      }
      state.cacheKey = key;
    }
    next(req, res);
  }

  /**
   * Makes the answer, or waits for that of an equal request in flight. Undefined if there is none to share:
   * the request then makes its own.
   */
  readonly share = async (req: IncomingMessage, make: Make): Promise<Answer | undefined> => {
    const state = stateOf(req);
    const key = state.cacheKey;
    if (key === undefined) return make();
    state.cache = "miss";
    const inFlight = this.#inFlight.get(key);
    // Another client's, which waits behind others of that: this one has its turn earlier, and those after it join this one.
    if (inFlight !== undefined && inFlight.of.client !== state.client && isBehindOwn(inFlight.of)) {
      return this.#make(key, make, state);
    }
    // It may have been made since this request was not found.
    const joined = inFlight?.promise ?? this.#kept.get(key) ?? this.#past.get(key);
    if (joined === undefined) return this.#make(key, make, state);
    if (inFlight !== undefined) inFlight.of.isShared = true;
    const answer = await joined;
    if (answer !== undefined) noteAnswer(state, "shared", answer);
    return answer;
  };

  async #make(key: string, make: Make, madeFor: RequestState): Promise<Answer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
    // Perhaps no request waits for it.
    promise.catch(() => undefined);
    const own: InFlight = { promise, of: madeFor };
    this.#inFlight.set(key, own);
    // A clear has removed it, and perhaps another has begun.
    const isCurrent = (): boolean => this.#inFlight.get(key) === own;
    try {
      const made = await make();
      const answer = made && { ...made, madeFor };
      if (answer !== undefined && isCurrent()) {
        (answer.isPast === true ? this.#past : this.#kept).set(key, answer);
      }
      resolve(answer);
      return answer;
    } catch (error) {
      if (isOfTheQuestion(error)) reject(error);
      else resolve(undefined);
      throw error;
    } finally {
      if (isCurrent()) this.#inFlight.delete(key);
    }
  }
}

/** What one client may ask another may not: none gets from memory what it would be refused. */
export const budgetOf = ({ key }: RequestState): string =>
  key?.cost === undefined ? "" : `\ncost ${key.cost}`;

/** Whether an equal request would fail alike: it is wrong, or PostgreSQL has cancelled its statement. */
function isOfTheQuestion(error: unknown): boolean {
  const shown = clientFacing(error);
  return shown.status === 400 || shown instanceof TookTooLong || shown instanceof DataLocked;
}

const keptIn = (bytes: number) =>
  new LRUCache<string, Answer>({
    maxSize: bytes,
    maxEntrySize: Math.floor(bytes * LARGEST_SHARE),
    sizeCalculation: sizeOf,
  });

// Two bytes a character at most.
const sizeOf = ({ headers, body }: Answer, key: string): number =>
  OVERHEAD_BYTES + body.length + 2 * (key.length + headers.join("").length);

function noteAnswer(state: RequestState, cache: "hit" | "shared", { madeFor }: Answer): void {
  state.cache = cache;
  state.route = madeFor?.route;
  state.operation = madeFor?.operation;
  if (cache === "shared") state.answeredAs = madeFor?.id;
}
