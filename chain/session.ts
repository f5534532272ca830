// Follows a chain on one connection to the database: writes the blocks that are final in ranges, then each new block,
// and goes back with the chain where it reorganises.
import { setTimeout as sleep } from "node:timers/promises";
import type { Header } from "./node-answers.ts";
import { findBranch, readBranch } from "./branch.ts";
import { DEFAULT_FINALITY, type ChainHead } from "./chain-head.ts";
import { differencesOf } from "./comparing.ts";
import type { BlockFact, Fact } from "./exchange-facts.ts";
import { Contradiction } from "./offers-left.ts";
import { MarketRegistration } from "./market-registration.ts";
import { RangeContradiction } from "./offer-checks.ts";
import { readRanges } from "./ranges.ts";
import { lastBlock, type Recorded } from "./written-blocks.ts";
import { Recording, type Written } from "./recording.ts";
import { startSession, type Shared, type Start } from "./session-start.ts";
import type { Block } from "./source.ts";
import { withUpdates } from "./updates.ts";

/** Up to so many final blocks are read one by one, as at the head. */
const FEW = 32;
const REPEAT_MS = 60_000;

/** Runs until the signal, or a failure. */
export async function runSession(shared: Shared): Promise<void> {
  const recording = await Recording.open(shared.databaseUrl, shared);
  try {
    const start = await startSession(shared, recording);
    await new Session(shared, recording, start).run();
  } finally {
    await recording.close();
  }
}

class Session {
  readonly #shared: Shared;
  readonly #recording: Recording;
  readonly #head: ChainHead;
  readonly #markets: MarketRegistration;
  #last: Recorded | undefined;
  /** The block that was final when this session wrote its last block. */
  #finalWhenWritten: number | undefined;
  /** Up to this final block, blocks are read in ranges, since one that was read by itself was wrong. */
  #rangesTo = -1;
  /** When it began to wait, or last said what for; undefined while it does not wait. */
  #waitsSince: number | undefined;

  constructor(shared: Shared, recording: Recording, { head, last }: Start) {
    this.#shared = shared;
    this.#recording = recording;
    this.#head = head;
    this.#last = last;
    this.#markets = new MarketRegistration(shared, recording, head);
  }

  async run(): Promise<void> {
    const { signal, checks, onProgress } = this.#shared;
    await this.#markets.begin(this.#last);
    await checks.restart(this.#recording, this.#last);
    while (!signal.aborted) {
      const isAhead = await this.#step().catch((error: unknown) => this.#resolve(error));
      onProgress();
      if (!isAhead) await sleep(this.#head.pollMs, undefined, { signal });
      await this.#head.learn();
    }
  }

  /** Writes what there is to write. Resolves to whether there may be more. */
  async #step(): Promise<boolean> {
    const { checks, source } = this.#shared;
    const { latest, final } = this.#head;
    const last = this.#last;
    const next = last === undefined ? this.#shared.fromBlock : last.number + 1;
    const isFar = final - next >= FEW || next <= this.#rangesTo;
    if (isFar && (last === undefined || (await this.#isOn(last)))) {
      if (last !== undefined) await this.#recheck(last, 1);
      checks.auditAgain(true);
      // A backfill registers its markets at once, and what these blocks say of a market is older.
      if (last !== undefined) await this.#markets.registerFinal(last);
      await this.#backfill(next, final);
      return true;
    }
    if (last !== undefined) {
      await this.#recheck(last, FEW);
      await checks.audit(this.#recording, last);
    }
    // As high, or lower: a node that lags, or a branch that is not longer. Neither is a reorganisation.
    if (latest.number < next) return this.#waits(this.#lackOf(next, last));
    // The highest block that was named may be of a branch that the node has left.
    const isNext = latest.number === next && (last === undefined || latest.parent === last.hash);
    const header = isNext ? latest : await source.headerAt(next);
    if (header === undefined) {
      return this.#waits(`The node does not have block ${next}, and named block ${latest.number}`);
    }
    if (last !== undefined && header.parent !== last.hash) {
      if (await this.#goBack(last)) return true;
      return this.#waits(
        `The node has another branch than block ${last.number}, ${last.hash}, and not all blocks of a longer one`,
      );
    }
    const block = await source.blockOf(header);
    const facts = await this.#updated(block.facts);
    await checks.check(this.#recording, facts);
    await this.#write([{ ...block, facts }]);
    return true;
  }

  /** What is wrong where the chain has no block `next`; undefined where its head is the database's. */
  #lackOf(next: number, last: Recorded | undefined): string | undefined {
    const { number, hash } = this.#head.answered;
    if (number < next - 1 || last === undefined) {
      return `The node is at block ${number}, before block ${next}, which is to be written`;
    }
    if (number >= next) return `The node does not have block ${number}, which it named`;
    if (hash === last.hash) return undefined;
    return `The node has ${hash} as block ${number}, and the database ${last.hash}; neither branch is longer`;
  }

  /** Where it has waited for long, says what for. */
  #waits(reason: string | undefined): false {
    const { repeatMs = REPEAT_MS, onEvent } = this.#shared;
    const now = performance.now();
    if (reason === undefined) {
      this.#waitsSince = undefined;
      onEvent?.({ event: "upToDate" });
    } else if (now - (this.#waitsSince ??= now) >= repeatMs) {
      this.#waitsSince = now;
      onEvent?.({ event: "waiting", reason });
    }
    return false;
  }

  async #isOn({ number, hash }: Recorded): Promise<boolean> {
    return (await this.#shared.source.headerAt(number))?.hash === hash;
  }

  /** Reads again what was contradicted, from the first block that may lack a log. */
  async #resolve(error: unknown): Promise<boolean> {
    if (!(error instanceof Contradiction)) throw error;
    const { checks } = this.#shared;
    if (await checks.resolve(this.#recording, this.#last, error)) {
      this.#last = await lastBlock(this.#recording.client);
      this.#markets.forgetAbove(this.#last?.number ?? -1);
    }
    await checks.restart(this.#recording, this.#last);
    return true;
  }

  /**
   * Reads what was read block by block, by its blooms, once more in a range when it is final. Throws a
   * `Contradiction` where rows differ.
   */
  async #recheck(last: Recorded, min: number): Promise<void> {
    const { source, registry, checks } = this.#shared;
    const recording = this.#recording;
    const from = Math.max(recording.checked.rangedTo + 1, this.#shared.fromBlock);
    const to = Math.min(this.#head.final, last.number);
    if (to - from + 1 < min || !(await this.#isOn(last))) return;
    const before = from === 0 ? undefined : await lastBlock(recording.client, from - 1);
    for await (const range of readRanges(source, { from, to, before })) {
      await registry.learn(range.facts, this.#head.state);
      const [found] = [
        ...(await differencesOf(recording.client, range, registry)),
        ...this.#markets.differences(range),
      ].sort((one, other) => one.block - other.block);
      if (found !== undefined) {
        this.#rangesTo = to;
        throw new RangeContradiction(
          `final block ${found.block} was read otherwise before it was final: ${found.text}`,
          found.block,
        );
      }
      await recording.checkedTo({ rangedTo: range.end.number });
      this.#markets.ranged(range.end.number);
    }
    checks.auditAgain();
  }

  async #backfill(from: number, to: number): Promise<void> {
    const { source, registry, checks } = this.#shared;
    // A range is decoded while the database writes the one before it: until then this process has rows to make.
    let staged = Promise.withResolvers<unknown>();
    const readAheadAfter = (): Promise<unknown> => staged.promise;
    const ranges = readRanges(source, { from, to, before: this.#last, readAheadAfter });
    for await (const read of ranges) {
      this.#shared.signal.throwIfAborted();
      const range = { ...read, facts: await this.#updated(read.facts) };
      await checks.check(this.#recording, range.facts);
      await registry.learn(range.facts, this.#head.state);
      const written = await this.#recording.writeRange(range, () => {
        staged.resolve(undefined);
      });
      staged = Promise.withResolvers();
      checks.written(range.end);
      this.#last = range.end;
      this.#report(range.end, written, true);
    }
  }

  /** These facts, which follow the block `upTo`, with those that updates give. */
  #updated(facts: readonly BlockFact[], upTo?: number): Promise<Fact[]> {
    return withUpdates(this.#recording.client, facts, upTo);
  }

  async #write(blocks: readonly Block[], takeBackTo?: number): Promise<void> {
    const header = blocks.at(-1)?.header;
    if (header === undefined) return;
    const facts = blocks.flatMap((block) => block.facts);
    const { registry } = this.#shared;
    if (takeBackTo !== undefined) registry.forgetAbove(takeBackTo);
    await registry.learn(facts, header);
    const written = await this.#recording.writeBlocks(blocks, takeBackTo);
    if (takeBackTo === undefined) this.#shared.checks.written(header);
    else this.#markets.forgetAbove(takeBackTo);
    this.#last = header;
    await this.#markets.written(blocks, header);
    this.#report(header, written, false);
  }

  /** Follows the chain to another branch. Only when all of it is read is it written, in one transaction. */
  async #goBack(last: Recorded): Promise<boolean> {
    const { checks, source } = this.#shared;
    const recording = this.#recording;
    const branch = await findBranch(source, recording, last, this.#finalAt(last));
    if (branch === undefined) return false;
    const { ancestor } = branch;
    const read = await readBranch(source, branch);
    const facts = await this.#updated(
      read.flatMap((block) => block.facts),
      ancestor.number,
    );
    const blocks = read.map((one) => ({
      ...one,
      facts: facts.filter(({ block }) => block === one.header.number),
    }));
    const made = await checks.lastMadeBy(recording, facts, ancestor.number);
    await this.#write(blocks, ancestor.number);
    await checks.restart(recording, this.#last, made);
    this.#shared.onEvent?.({
      event: "reorganisation",
      ancestor: ancestor.number,
      depth: last.number - ancestor.number,
    });
    return true;
  }

  /** The block that was final when `last` was written, or was read as final since. */
  #finalAt({ number }: Recorded): number {
    const { finality = DEFAULT_FINALITY } = this.#shared;
    // Where an earlier run has written it, the chain has gone on since.
    const earlier = Math.min(this.#head.final, number - finality);
    return Math.max(this.#recording.checked.rangedTo, this.#finalWhenWritten ?? earlier);
  }

  #report(header: Header, { rows, leftOut }: Written, isBackfill: boolean): void {
    const known = this.#head.latest;
    this.#waitsSince = undefined;
    this.#finalWhenWritten = this.#head.final;
    this.#shared.onProgress();
    this.#shared.onEvent?.({
      event: "written",
      indexed: header.number,
      time: header.time,
      known: known.number,
      knownTime: known.time,
      rows,
      leftOut,
      isBackfill,
      from: this.#shared.fromBlock,
    });
  }
}
