// Keeps a database at the head of another service: it reads pages of blocks, checks them, and writes them.
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { connect, type Client } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { isFirstWriter } from "../first-writer.ts";
import { isUnreachable } from "../failure.ts";
import { findBasis } from "../export/days.ts";
import { LoadError, refusedByDatabase } from "../load/load-error.ts";
import { recordFinal, recordSource, refuseOtherBasis } from "./basis.ts";
import { BEFORE_ALL, commonBlock, follows, isFinal, lastBlock, type Own } from "./common-block.ts";
import { MirrorError, OriginUnavailable } from "./mirror-error.ts";
import { Origin, readAnswer } from "./origin.ts";
import { blockPage, type BlockPage } from "./block-page.ts";
import { DueRegistrations } from "./due-registrations.ts";
import { register } from "./origin-registry.ts";
import { refuseOtherDigests, writeOneByOne } from "./write-facts.ts";

/** A block with more is refused. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** Where the origin, or a cache in front of it, does not wait for its next block. */
const POLL_MS = 100;

/** So far below the head ingest.drop_empty_blocks keeps blocks without rows. */
const EMPTY_BLOCKS_KEPT = 1000;

export type FollowEvent =
  | { event: "written"; blocks: number; head: number; isAtHead: boolean }
  | { event: "taken back"; to: number; from: number }
  | { event: "waiting"; reason: string }
  | { event: "goes on" };

export interface FollowOptions {
  /** The database. */
  url: string;
  /** Of the service. */
  origin: string;
  signal: AbortSignal;
  onEvent?: (event: FollowEvent) => void;
  firstPauseMs?: number;
}

/** Ends when `signal` aborts. Throws a MirrorError where the origin has other facts; nothing of them is written. */
export async function follow(options: FollowOptions): Promise<void> {
  const { signal, onEvent = () => undefined, firstPauseMs = FIRST_PAUSE_MS } = options;
  const follower = new Follower(options);
  let pauseMs = firstPauseMs;
  let complaint: string | undefined;
  try {
    while (!signal.aborted) {
      try {
        await follower.step();
        if (complaint !== undefined) onEvent({ event: "goes on" });
        [pauseMs, complaint] = [firstPauseMs, undefined];
      } catch (error) {
        if (isAborted(signal)) break;
        if (!(error instanceof OriginUnavailable) && !isUnreachable(error)) throw error;
        const reason = errorText(error);
        if (reason !== complaint) onEvent({ event: "waiting", reason });
        complaint = reason;
        await follower.close();
        const asked = error instanceof OriginUnavailable ? error.retryMs : undefined;
        await sleep(asked ?? pauseMs, undefined, { signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  } finally {
    await follower.close();
  }
}

/** It may have changed since the loop began its turn. */
const isAborted = ({ aborted }: AbortSignal): boolean => aborted;

const answer = z.object({ data: blockPage });

class Follower {
  readonly #options: FollowOptions;
  readonly #origin: Origin;
  #client: Client | undefined;
  #registrations: DueRegistrations;
  /** Up to this block the database has recorded that nothing is taken back any more. */
  #final = -1;
  /** Whether the last page ended with the head: the next block is waited for. */
  #isAtHead = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#origin = new Origin(options.origin);
    this.#registrations = new DueRegistrations(this.#origin);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#isAtHead = false;
    // What was to be registered may not be.
    this.#registrations = new DueRegistrations(this.#origin);
    await client?.end().catch(() => undefined);
  }

  /** An indexer that writes would lose what it has recorded of its contracts, so its end is waited for. */
  async #connect(): Promise<Client> {
    const client = await connect(this.#options.url, {
      role: "dex_writer",
      applicationName: "dex-market-data follow",
    });
    this.#client = client;
    if (await isFirstWriter(client)) return client;
    throw new OriginUnavailable("An indexer or another mirror writes to the database");
  }

  /** Reads a page and writes it. */
  async step(): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    const own = await lastBlock(client);
    const page = await this.#page(own);
    const isFollowed = own === undefined || (await follows(client, page, own));
    const basis = await findBasis(client);
    if (basis !== undefined && page.basis !== null) {
      const isBegunAnew = !isFollowed && !(await isFinal(client, basis.firstBlock));
      const { firstBlock, hashed } = isBegunAnew ? page.basis : basis;
      refuseOtherBasis({ ...basis, firstBlock, hashed }, page.basis);
    }
    if (own !== undefined && page.head.number < own.number) {
      throw new OriginUnavailable(
        `The origin is behind, at block ${page.head.number}; this database has block ${own.number}`,
      );
    }
    if (own === undefined) await this.#write(client, page, { own });
    else if (isFollowed) await this.#writeAfter(client, page, { own, from: own });
    else await this.#leaveBranch(client, own);
  }

  async #page(own: Own | undefined): Promise<BlockPage> {
    const from = own === undefined ? 0 : own.number + 1;
    if (!this.#isAtHead) return this.#ask(from, {});
    this.#isAtHead = false;
    const asked = performance.now();
    const page = await this.#ask(from, { "X-Min-Block": String(from) }).catch((error: unknown) => {
      if (!(error instanceof OriginUnavailable) || error.status !== 503) throw error;
      return undefined;
    });
    if (page !== undefined && page.blocks.length > 0) return page;
    const pause = POLL_MS - (performance.now() - asked);
    await sleep(Math.max(0, pause), undefined, { signal: this.#options.signal });
    return page ?? this.#ask(from, {});
  }

  async #ask(from: number, headers: Record<string, string>): Promise<BlockPage> {
    const path = `v2/blocks?from=${from}`;
    const text = await this.#origin.text(path, MAX_PAGE_BYTES, {
      headers,
      signal: this.#options.signal,
      isDigested: true,
    });
    const { data } = readAnswer(answer, text, `${this.#origin.url}${path} is`);
    refuseContradiction(data, from);
    return data;
  }

  /** Writes the page, which follows `own`, behind its last block before: what the database has from there up to `from` is taken back. */
  async #writeAfter(
    client: Client,
    page: BlockPage,
    { own, from }: { own: Own; from: Own },
  ): Promise<void> {
    const [first] = page.blocks;
    const before = page.before?.number ?? BEFORE_ALL.number;
    // Above it are blocks without rows: the origin has taken them back, unless they are so old that it would not keep them.
    const kept = Math.max(before, page.head.number - EMPTY_BLOCKS_KEPT - 1);
    const to = first === undefined ? own.number : Math.min(kept, first.number - 1);
    const last = to >= own.number ? own : ((await lastBlock(client, to)) ?? BEFORE_ALL);
    await this.#write(client, page, last.number === from.number ? { own } : { own: last, from });
  }

  /** Writes the page after the block `own`, to which the blocks up to `from` are taken back before. */
  async #write(client: Client, page: BlockPage, { own, from }: Place): Promise<void> {
    const { blocks, next } = page;
    const last = blocks.at(-1);
    const registrations = await this.#registrations.before(blocks, this.#options.signal);
    const final = Math.min(page.final ?? -1, (last ?? own)?.number ?? -1);
    if (last !== undefined || registrations !== undefined || final > this.#final) {
      await inTransaction(client, from ?? own, async () => {
        if (from !== undefined) await client.query("select ingest.take_back($1)", [own?.number]);
        if (registrations !== undefined) await register(client, registrations);
        if (last === undefined) return recordFinal(client, final);
        await recordSource(client, page.basis);
        await writeOneByOne(client, blocks, own?.number);
        await refuseOtherDigests(client, blocks);
        const basis = await findBasis(client);
        if (basis !== undefined && page.basis !== null) refuseOtherBasis(basis, page.basis);
        await recordFinal(client, final);
      });
    }
    this.#final = final;
    this.#isAtHead = next === null;
    const { onEvent = () => undefined } = this.#options;
    if (from !== undefined)
      onEvent({ event: "taken back", to: own?.number ?? 0, from: from.number });
    if (last === undefined) return;
    onEvent({
      ...{ event: "written", blocks: blocks.length },
      ...{ head: last.number, isAtHead: this.#isAtHead },
    });
  }

  /** Goes back to the last block that both have, and on with the origin's, in one transaction. */
  async #leaveBranch(client: Client, own: Own): Promise<void> {
    const common = await commonBlock(client, this.#origin, own, this.#options.signal);
    const page = await this.#ask(common.shared.number + 1, {});
    if (!(await follows(client, page, common.shared)) || page.blocks.length === 0) {
      throw new OriginUnavailable(
        `The origin has gone on to another branch, or what it says of block ${common.shared.number} contradicts its blocks after it`,
      );
    }
    await this.#writeAfter(client, page, { own: common.own, from: own });
  }
}

interface Place {
  own: Own | undefined;
  from?: Own;
}

/** `expected` is the head that was read before. */
async function inTransaction(
  client: Client,
  expected: Own | undefined,
  write: () => Promise<void>,
): Promise<void> {
  await client.query("begin");
  try {
    const { rows } = await client.query<{ head: number | null }>(
      "select head from ingest.take_turn()",
    );
    const head = rows[0]?.head ?? undefined;
    if (head !== expected?.number) {
      throw new OriginUnavailable(`Another writer has written block ${head ?? "none"}`);
    }
    await write();
    await client.query("commit");
  } catch (error) {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
    const refused = refusedByDatabase(error);
    throw refused instanceof LoadError ? new MirrorError(refused.message) : error;
  }
}

/** Throws a MirrorError where the parts of a page contradict each other. */
function refuseContradiction({ blocks, before, head, next, final }: BlockPage, from: number): void {
  const refuse = (problem: string): never => {
    throw new MirrorError(`the page of blocks from ${from} contradicts itself: ${problem}`);
  };
  if (before !== null && before.number >= from) refuse(`block ${before.number} is before it`);
  let last = from - 1;
  for (const { number } of blocks) {
    if (number <= last) refuse(`block ${number} follows block ${last}`);
    last = number;
  }
  if (final !== null && final > head.number)
    refuse(`block ${final} is final, and ${head.number} the head`);
  const isWhole = next === null;
  if (blocks.length === 0 && (!isWhole || head.number >= from)) refuse("it has no block");
  if (
    blocks.length > 0 &&
    (isWhole ? last !== head.number : next !== last + 1 || last >= head.number)
  ) {
    refuse(`it ends with block ${last}, the head is ${head.number} and the next page from ${next}`);
  }
}
