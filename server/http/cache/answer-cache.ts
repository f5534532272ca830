// Answers from memory while the data stand as they were; equal requests in flight share one answer.
import { LRUCache } from "lru-cache";
import { hash } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import type { Database } from "../../../db/connect.ts";
import { encodingFor, sendAnswer, type Answer } from "../answer.ts";
import { observationOf } from "../observe/observation.ts";
import { VersionWatch, type DataVersion } from "./data-version.ts";
import { isShortJson, readBody } from "./request-body.ts";

export interface CacheOptions {
  /** How much memory the answers may take, in bytes. */
  bytes: number;
  /**
   * For how long the data are taken to stand after their version was read, in milliseconds: no answer
   * is older. 0 reads it for every request.
   */
  checkMs: number;
  /** Asked for the version, if not the service's pool. It must lead to the same server. */
  versionFrom?: Database;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

export interface AnswerCacheOptions extends CacheOptions {
  versionFrom: Database;
  /** How long the body of a GraphQL request may be. */
  bodyBytes: number;
  log: (error: unknown) => void;
}

/** Makes the answer to a request; undefined for one that only its own client may get. */
type Make = () => Promise<Answer | undefined>;

/** What an answer takes beside its texts and its body, by measurement roughly. */
const OVERHEAD_BYTES = 1024;

/** No answer takes more than this share of the memory. */
const LARGEST_SHARE = 1 / 8;

/** Without a head, figures depend on the clock: they are as old as this at most. */
const CLOCK_MS = 1000;

/**
 * The answers to GET and HEAD below /v1 and /v2, and to POST /graphql. Only successes are kept and
 * shared, under what decides their bytes: the URL or the SHA-256 of the body, and what was negotiated.
 *
 * The version of the data is read before an answer is made, so the answer is never older. A new version
 * or schema drops them all: a write anywhere may change any of them.
 */
export class AnswerCache {
  readonly #kept: LRUCache<string, Answer, Make>;
  readonly #keys = new WeakMap<IncomingMessage, string>();
  readonly #versions: VersionWatch;
  readonly #now: () => number;
  readonly #bodyBytes: number;
  #version = "";

  constructor({
    bytes,
    bodyBytes,
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
  }

  /** How many bytes all that is kept takes, about. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** Drops all answers. */
  clear(): void {
    this.#kept.clear();
  }

  /**
   * A listener for the http server, in front of Express, which costs more than a cache hit. It hands
   * on what is not kept.
   */
  answering(next: RequestListener): RequestListener {
    return (req, res) => {
      const { method, url = "" } = req;
      const answerBy = (key: string): void => this.#answer(key, req, res, next);
      if (method === "GET" || method === "HEAD") {
        if (/^\/v[12]\//.test(url)) answerBy(`${url}\n${encodingFor(req, "gzip")}`);
        else next(req, res);
      } else if (method === "POST" && url === "/graphql" && isShortJson(req, this.#bodyBytes)) {
        readBody(req, (body) => {
          const { accept = "" } = req.headers;
          const asked = hash("sha256", body, "base64url");
          answerBy(`${asked}\n${accept}\n${encodingFor(req, "br", "gzip")}`);
        });
      } else next(req, res);
    };
  }

  #answer(key: string, req: IncomingMessage, res: ServerResponse, next: RequestListener): void {
    const version = this.#versions.known();
    const go = (known: DataVersion | undefined): void => this.#answerAt(known, key, req, res, next);
    if (version !== undefined) go(version);
    else void this.#versions.ask().then(go);
  }

  #answerAt(
    version: DataVersion | undefined,
    key: string,
    req: IncomingMessage,
    res: ServerResponse,
    next: RequestListener,
  ): void {
    // Without the version nothing is known of what is kept.
    if (version !== undefined) {
      const { text, hasHead } = version;
      const current = hasHead ? text : `${text} ${Math.floor(this.#now() / CLOCK_MS)}`;
      if (current !== this.#version) this.clear();
      this.#version = current;
      const known = this.#kept.get(key);
      if (known !== undefined) {
        noteAnswer(req, "hit", known);
        sendAnswer(req, res, known);
        return;
      }
      this.#keys.set(req, key);
    }
    next(req, res);
  }

  /**
   * The answer to a request that was handed on: made by `make`, or that of an equal request in flight.
   * Where `make` gives undefined, so does this, to all of them.
   */
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

/** lru-cache rejects so a fetch without an answer, if the cache is cleared meanwhile. */
const isCleared = (error: unknown): boolean =>
  error instanceof Error && error.message === "deleted";

// Two bytes a character at most.
const sizeOf = ({ headers, body }: Answer, key: string): number =>
  OVERHEAD_BYTES + body.length + 2 * (key.length + headers.join("").length);

/** Notes where the answer to this request came from, and what was asked. */
function noteAnswer(req: IncomingMessage, cache: "hit" | "shared", { madeFor }: Answer): void {
  const observation = observationOf(req);
  if (observation === undefined) return;
  observation.cache = cache;
  observation.route = madeFor?.route;
  observation.operation = madeFor?.operation;
  if (cache === "shared") observation.answeredAs = madeFor?.id;
}
