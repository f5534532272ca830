// Caches answers while the data do not change; equal requests in flight share one answer.
import { LRUCache } from "lru-cache";
import { hash } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import type { Database } from "../../../db/connect.ts";
import { encodingFor, sendAnswer, type Answer } from "../answer.ts";
import { isTooOld, minBlockOf } from "../min-block.ts";
import { observationOf } from "../observe/observation.ts";
import { VersionWatch, type DataVersion } from "./data-version.ts";
import { isShortJson, readBody } from "./request-body.ts";

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
  /** First segments of paths: GET and HEAD below them are cached. */
  below: readonly string[];
  /** Paths whose answers to GET and HEAD are cached by Accept too. */
  negotiated: RegExp;
  log: (error: unknown) => void;
}

/** Makes an answer; undefined for one that must not be shared. */
type Make = () => Promise<Answer | undefined>;

/** Of an answer beside its texts and its body, roughly, by measurement. */
const OVERHEAD_BYTES = 1024;

/** Larger answers are not cached. */
const LARGEST_SHARE = 1 / 8;

/** Without a head, figures depend on the clock: this is their maximum age. */
const CLOCK_MS = 1000;

/**
 * Answers to GET and HEAD of some paths, and to POST /graphql. Only successes are cached and shared.
 * The key is what decides their bytes: the URL or the SHA-256 of the body, and what was negotiated.
 *
 * The version of the data is read before an answer is made, so the answer is never older. A new version
 * or schema clears the cache: a write anywhere may change any answer.
 */
export class AnswerCache {
  readonly #kept: LRUCache<string, Answer, Make>;
  readonly #keys = new WeakMap<IncomingMessage, string>();
  readonly #versions: VersionWatch;
  readonly #now: () => number;
  readonly #bodyBytes: number;
  readonly #isCached: RegExp;
  readonly #isNegotiated: RegExp;
  #version = "";

  constructor({
    bytes,
    bodyBytes,
    below,
    negotiated,
    versionFrom,
    checkMs,
    log,
    now = () => performance.now(),
  }: AnswerCacheOptions) {
    this.#kept = new LRUCache<string, Answer, Make>({
      maxSize: bytes,
      maxEntrySize: Math.floor(bytes * LARGEST_SHARE),
      sizeCalculation: sizeOf,
      fetchMethod: (_key, _stale, { context }) => context(),
      // A dropped answer still goes to the requests that wait for it.
      ignoreFetchAbort: true,
    });
    this.#versions = new VersionWatch({ db: versionFrom, checkMs, log, now });
    this.#now = now;
    this.#bodyBytes = bodyBytes;
    this.#isCached = new RegExp(`^/(?:${below.join("|")})/`);
    this.#isNegotiated = negotiated;
  }

  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  get size(): number {
    return this.#kept.size;
  }

  clear(): void {
    this.#kept.clear();
  }

  /** Stands in front of Express, which takes longer than a cache hit. */
  answering(next: RequestListener): RequestListener {
    return (req, res) => {
      const { method, url = "" } = req;
      const answerBy = (key: string): void => {
        const go = (version?: DataVersion): void => this.#answerAt(version, key, req, res, next);
        const version = this.#versions.known();
        if (version !== undefined) go(version);
        else void this.#versions.ask().then(go);
      };
      if (method === "GET" || method === "HEAD") {
        const encoding = encodingFor(req, "gzip");
        if (this.#isCached.test(url)) answerBy(`${url}\n${encoding}`);
        else if (this.#isNegotiated.test(url)) {
          answerBy(`${url}\n${encoding}\n${req.headers.accept ?? ""}`);
        } else next(req, res);
      } else if (method === "POST" && url === "/graphql" && isShortJson(req, this.#bodyBytes)) {
        readBody(req, (body) => {
          const { accept = "" } = req.headers;
          const asked = hash("sha256", body, "base64url");
          // GraphQL reads the head only for a request that asks for a block.
          const of = minBlockOf(req) === undefined ? "" : "\nhead";
          answerBy(`${asked}\n${accept}\n${encodingFor(req, "br", "gzip")}${of}`);
        });
      } else next(req, res);
    };
  }

  #answerAt(
    version: DataVersion | undefined,
    key: string,
    req: IncomingMessage,
    res: ServerResponse,
    next: RequestListener,
  ): void {
    // Without the version no cached answer is known to be right.
    if (version !== undefined) {
      const { text, hasHead } = version;
      const current = hasHead ? text : `${text} ${Math.floor(this.#now() / CLOCK_MS)}`;
      if (current !== this.#version) this.clear();
      this.#version = current;
      const known = this.#kept.get(key);
      if (known !== undefined && isTooOld(req, known.block)) {
        // The version is older than the block that the request has waited for: its answer is not shared.
        next(req, res);
        return;
      }
      if (known !== undefined) {
        noteAnswer(req, "hit", known);
        sendAnswer(req, res, known);
        return;
      }
      this.#keys.set(req, key);
    }
    next(req, res);
  }

  /** Makes the answer, or waits for that of an equal request in flight. Undefined if `make` gives that. */
  async share(req: IncomingMessage, make: Make): Promise<Answer | undefined> {
    const key = this.#keys.get(req);
    if (key === undefined) return make();
    const observation = observationOf(req);
    if (observation !== undefined) observation.cache = "miss";
    const context: Make = async () => {
      const made = await make();
      return made && { ...made, madeFor: observation };
    };
    const answer = await this.#kept.fetch(key, { context }).catch((error: unknown) => {
      if (isCleared(error)) return undefined;
      throw error;
    });
    if (answer !== undefined && answer.madeFor !== observation) noteAnswer(req, "shared", answer);
    return answer;
  }
}

/** lru-cache's error for a fetch without an answer, if the cache was cleared meanwhile. */
const isCleared = (error: unknown): boolean =>
  error instanceof Error && error.message === "deleted";

// Two bytes a character at most.
const sizeOf = ({ headers, body }: Answer, key: string): number =>
  OVERHEAD_BYTES + body.length + 2 * (key.length + headers.join("").length);

function noteAnswer(req: IncomingMessage, cache: "hit" | "shared", { madeFor }: Answer): void {
  const observation = observationOf(req);
  if (observation === undefined) return;
  observation.cache = cache;
  observation.route = madeFor?.route;
  observation.operation = madeFor?.operation;
  if (cache === "shared") observation.answeredAs = madeFor?.id;
}
