// Reads that never go back: X-Min-Block asks for an answer of that block or a later one.
import type { IncomingMessage, RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/connect.ts";
import { BadHeader, HeadBehind } from "./errors.ts";
import { clientFacing, type Refuse } from "./refusal.ts";

const ACCEPTED = "a block number, an integer from 0 to 2147483647";
const LARGEST = 2_147_483_647;

/** The block that the request asks for; undefined without one. Throws for a value that is none. */
export function minBlockOf({ headers }: IncomingMessage): number | undefined {
  const given = headers["x-min-block"];
  if (given === undefined) return undefined;
  const block = /^\d{1,10}$/.test(String(given)) ? Number(given) : NaN;
  if (block <= LARGEST) return block;
  throw new BadHeader("X-Min-Block", ACCEPTED);
}

/** The head of an answer: null without any block, undefined if the answer reads no data. */
export type AnswerBlock = number | null | undefined;

const heads = new WeakMap<IncomingMessage, number | null>();

/** Notes the head of a GraphQL request's snapshot. */
export const noteHead = (req: IncomingMessage, block: number | null): void =>
  void heads.set(req, block);

/** Undefined if the request has read no data, or asks for no block. */
export const headOf = (req: IncomingMessage): AnswerBlock => heads.get(req);

/** Whether an answer of this block is older than the request allows. */
export const isTooOld = (req: IncomingMessage, block: AnswerBlock): boolean =>
  block !== undefined && (block ?? 0) < (minBlockOf(req) ?? 0);

/**
 * Gives a shared answer, or makes one where the shared one was begun before the request's block was written.
 * Throws if a reorganisation has taken that block back meanwhile.
 */
export async function recentEnough<Answer extends { block?: AnswerBlock }>(
  req: IncomingMessage,
  shared: Answer,
  make: () => Promise<Answer>,
): Promise<Answer> {
  if (!isTooOld(req, shared.block)) return shared;
  const made = await make();
  if (isTooOld(req, made.block)) throw new HeadBehind(made.block ?? null, minBlockOf(req) ?? 0);
  return made;
}

export interface MinBlockOptions {
  db: Database;
  /** First segments of the paths of REST, whose answers have a head. */
  below: readonly string[];
  /** How long a request waits for its block, in milliseconds. */
  waitMs: number;
  refuse: Refuse;
}

/** How often the head is read while requests wait for a block. */
const EVERY_MS = 20;

/** Lets a request pass once the database has its block. Waiting requests share one statement. */
export function withMinBlock(
  next: RequestListener,
  { db, below, waitMs, refuse }: MinBlockOptions,
): RequestListener {
  const reads = new RegExp(`^/(?:(?:${below.join("|")})/|graphql(?:$|\\?))`);
  let reading: Promise<number | null> | undefined;
  const readHead = async (): Promise<number | null> => {
    const { rows } = await db.query<{ block: number | null }>(SELECT_HEAD);
    return rows[0]?.block ?? null;
  };
  const waitFor = async (least: number): Promise<void> => {
    const until = performance.now() + waitMs;
    for (;;) {
      // A statement in flight may have begun before the block was written; the next look sees it.
      reading ??= readHead().finally(() => (reading = undefined));
      const block = await reading;
      if ((block ?? 0) >= least) return;
      if (performance.now() >= until) throw new HeadBehind(block, least);
      await sleep(EVERY_MS);
    }
  };
  return (req, res) => {
    if (req.headers["x-min-block"] === undefined || !reads.test(req.url ?? "")) {
      next(req, res);
      return;
    }
    const passed = async (): Promise<void> => waitFor(minBlockOf(req) ?? 0);
    passed().then(
      () => next(req, res),
      (error: unknown) => refuse(req, res, clientFacing(error)),
    );
  };
}

export const SELECT_HEAD = {
  name: "head_block",
  text: "select block from dex_head",
  query_timeout: 1000,
};
