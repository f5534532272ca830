// Reads that never go back: X-Min-Block asks for an answer of that block or a later one. The requests that wait for a block
// share each look at the head, so that one more costs neither a statement nor a timer.
import type { ServerResponse } from "node:http";
import type { Database } from "../db/connect.ts";
import { BadHeader, HeadBehind } from "./errors.ts";
import { clientFacing, type Refuse } from "./refusal.ts";
import { forNoRequest, stateOf, type RequestState, type Step } from "./request.ts";

const ACCEPTED = "a block number, an integer from 0 to 2147483647";
const LARGEST = 2_147_483_647;

function blockIn(given: string): number {
  const block = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
  if (block <= LARGEST) return block;
  throw new BadHeader("X-Min-Block", ACCEPTED);
}

export interface MinBlockOptions {
  db: Database;
  /** First segments of the paths of REST, whose answers have a head. */
  segments: readonly string[];
  /** How long a request waits for its block, in milliseconds. */
  waitMs: number;
  refuse: Refuse;
}

/** Lets a request that asks for a block pass once the database has it. */
export function awaitMinBlock({ db, segments, waitMs, refuse }: MinBlockOptions): Step {
  const known = new Set(segments);
  const blocks = new AwaitedBlocks(db, waitMs);
  const readsData = ({ segment, isForGraphql }: RequestState, url = ""): boolean =>
    isForGraphql || (known.has(segment) && url.startsWith(`/${segment}/`));
  return (next) => (req, res) => {
    const state = stateOf(req);
    if (!readsData(state, req.url)) {
      next(req, res);
      return;
    }
    const passed = async (): Promise<void> => {
      state.minBlock = blockIn(String(req.headers["x-min-block"]));
      await blocks.reached(state.minBlock, res);
    };
    passed().then(
      () => next(req, res),
      (error: unknown) => refuse(req, res, clientFacing(error)),
    );
  };
}

/** How often the head is read while requests wait for a block. */
const EVERY_MS = 20;

export const SELECT_HEAD = {
  name: "head_block",
  text: "select block from dex_head",
  query_timeout: 1000,
};

interface Awaited {
  min: number;
  until: number;
  /** Whether the statement in flight is another request's: its failure is none of this one. */
  isGuest: boolean;
  res: ServerResponse;
  resolve: (value: undefined) => void;
  reject: (error: unknown) => void;
}

class AwaitedBlocks {
  readonly #db: Database;
  readonly #waitMs: number;
  readonly #waiting = new Set<Awaited>();
  #isReading = false;
  #next: NodeJS.Timeout | undefined;

  constructor(db: Database, waitMs: number) {
    this.#db = db;
    this.#waitMs = waitMs;
  }

  /** Resolves when the database has the block; rejects after the wait. It forgets a client that has left. */
  reached(min: number, res: ServerResponse): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const until = performance.now() + this.#waitMs;
    this.#waiting.add({ min, until, isGuest: this.#isReading, res, resolve, reject });
    this.#look();
    return promise;
  }

  /** A statement in flight may have begun before the block was written; the next look sees it. */
  #look(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    clearTimeout(this.#next);
    void this.#read().then((hasFailed) => {
      this.#isReading = false;
      if (this.#waiting.size === 0) return;
      if (hasFailed) this.#look();
      else this.#next = setTimeout(() => this.#look(), EVERY_MS);
    });
  }

  async #read(): Promise<boolean> {
    try {
      const { rows } = await forNoRequest(() =>
        this.#db.query<{ block: number | null }>(SELECT_HEAD),
      );
      this.#compare(rows[0]?.block ?? null);
      return false;
    } catch (error) {
      this.#fail(error);
      return true;
    }
  }

  /** Those that share the statement of another request read once more. */
  #fail(error: unknown): void {
    for (const waiting of this.#waiting) {
      if (waiting.isGuest) waiting.isGuest = false;
      else {
        this.#waiting.delete(waiting);
        waiting.reject(error);
      }
    }
  }

  #compare(block: number | null): void {
    const now = performance.now();
    for (const waiting of this.#waiting) {
      const { min, until, res, resolve, reject } = waiting;
      if ((block ?? 0) >= min) resolve(undefined);
      else if (now >= until) reject(new HeadBehind(block, min));
      else if (!res.destroyed) {
        waiting.isGuest = true;
        continue;
      }
      this.#waiting.delete(waiting);
    }
  }
}
