// Follows a chain: fills the database with the blocks that are final, then writes each new block, and goes back
// with the chain where it reorganises.
import { setTimeout as sleep } from "node:timers/promises";
import type { Header } from "./answers.ts";
import { Doubts } from "./doubts.ts";
import type { Decoder, Fact, MarketFact } from "./facts.ts";
import type { GivenMarket } from "./given-markets.ts";
import { EXIT, Halt } from "./halt.ts";
import { Contradiction } from "./ledger.ts";
import { readRanges } from "./ranges.ts";
import { marketsOf, Recording, type Recorded } from "./recording.ts";
import { Registry } from "./registry.ts";
import { Refused, Requests, Unavailable, type Outcome } from "./requests.ts";
import { withSenders } from "./senders.ts";
import { ChainSource, RangeRefused, type Block } from "./source.ts";

export interface IndexerOptions {
  /** The database, by a login that may become dex_writer. */
  databaseUrl: string;
  /** URLs of the chain's nodes, tried in turn. */
  rpcUrls: readonly string[];
  /** Address of the exchange's contract. */
  exchange: string;
  decoder: Decoder;
  /** The first block of an empty database. */
  fromBlock: number;
  /** Blocks that the chain may take back; without it, those that it does not call finalized. */
  finality?: number | undefined;
  /** Whose trade it is: the event's taker, or the sender of its transaction. */
  taker?: "event" | "sender" | undefined;
  /** Markets to register at the start, beside those that the exchange lists. */
  markets?: readonly GivenMarket[] | undefined;
  /** The most requests a second to the nodes. */
  requestsPerSecond?: number | undefined;
  /** How long one request may take, in milliseconds. */
  requestTimeoutMs?: number | undefined;
  /** Waits of retries, in milliseconds, for tests. */
  backoffMs?: number | undefined;
  /** How often it says again what it waits for, in milliseconds, for tests. */
  repeatMs?: number | undefined;
  signal: AbortSignal;
  onEvent?: ((event: IndexerEvent) => void) | undefined;
}

export type IndexerEvent =
  /** Nothing can be written at present. */
  | { event: "waiting"; reason: string }
  /** Blocks are written up to `indexed`. */
  | {
      event: "written";
      indexed: number;
      time: number;
      known: number;
      knownTime: number;
      rows: number;
      leftOut: number;
      isBackfill: boolean;
    }
  | { event: "reorganisation"; ancestor: number; depth: number }
  | { event: "known"; known: number; knownTime: number }
  | { event: "leftOut"; reason: string }
  /** Something cannot be checked, and is believed. */
  | { event: "doubt"; reason: string }
  /** The node or the database fails; it is tried again. */
  | { event: "failure"; reason: string }
  | { event: "recovered" }
  | { event: "request"; method: string; outcome: Outcome };

/** The finality of a chain that names no finalized block. */
const USUAL_FINALITY = 64;
/** Up to so many final blocks are read one by one, as at the head. */
const FEW = 32;
/**
 * A market is registered once its block is final, since a registration cannot be taken back; at the latest when it is
 * so many blocks old. A start reads so many again.
 */
const MARKET_DEPTH = 8192;
const SHORTEST_POLL_MS = 50;
const LONGEST_POLL_MS = 1000;
/** Polls without a new block, of about eight in a block's time, before another node is asked. */
const MOST_IDLE_POLLS = 10;
const FIRST_RETRY_MS = 250;
const REPEAT_MS = 60_000;
const LAST_RETRY_MS = 10_000;

/** Runs until the signal; then it resolves. Throws a `Halt` where it cannot be sure of what is right. */
export async function runIndexer(options: IndexerOptions): Promise<void> {
  const { signal, onEvent = () => undefined } = options;
  const { backoffMs = FIRST_RETRY_MS, repeatMs = REPEAT_MS } = options;
  let retryMs = backoffMs;
  let failed = "";
  let failedAt = 0;
  const tools = toolsOf(options, onEvent);
  while (!signal.aborted) {
    const session = new Session(options, tools, () => {
      retryMs = backoffMs;
      if (failed !== "") onEvent({ event: "recovered" });
      failed = "";
    });
    try {
      await session.run();
    } catch (error) {
      if (options.signal.aborted) return;
      if (error instanceof Halt || !isTransient(error)) throw error;
      const reason = (error as Error).message;
      if (reason !== failed || performance.now() - failedAt >= repeatMs) {
        onEvent({ event: "failure", reason });
        failedAt = performance.now();
      }
      failed = reason;
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    } finally {
      await session.close();
    }
  }
}

/** What all sessions share: the rate of requests, the chain's id, and what was learned of nodes and tokens. */
interface Tools {
  source: ChainSource;
  registry: Registry;
  requests: Requests;
  doubts: Doubts;
}

function toolsOf(options: IndexerOptions, onEvent: (event: IndexerEvent) => void): Tools {
  const { rpcUrls, requestsPerSecond, requestTimeoutMs, backoffMs } = options;
  const requests = new Requests({
    urls: rpcUrls,
    perSecond: requestsPerSecond,
    timeoutMs: requestTimeoutMs,
    backoffMs,
    signal: options.signal,
    onRequest: (method, outcome) => onEvent({ event: "request", method, outcome }),
  });
  const source = new ChainSource({
    ...options,
    requests,
    doubtMs: backoffMs,
    onDoubt: (reason) => {
      doubts.auditAgain();
      onEvent({ event: "doubt", reason });
    },
  });
  const doubts = new Doubts({ ...options, requests, source, onEvent });
  const registry = new Registry({
    requests,
    onLeftOut: (reason) => onEvent({ event: "leftOut", reason }),
  });
  return { requests, source, registry, doubts };
}

/** From a connection to the database to its end, or to a failure. */
class Session {
  readonly #options: IndexerOptions;
  readonly #onProgress: () => void;
  readonly #requests: Requests;
  readonly #source: ChainSource;
  readonly #registry: Registry;
  readonly #doubts: Doubts;
  #recording: Recording | undefined;
  #last: Recorded | undefined;
  #latest: Header | undefined;
  /** The highest block that was ever called final. */
  #final = -1;
  /** Market facts of blocks that are not final. */
  #markets: MarketFact[] = [];
  /** The block that was final when this session wrote its last block. */
  #finalWhenWritten: number | undefined;
  /** When it began to wait, or last said what for; undefined while it does not wait. */
  #waitsSince: number | undefined;
  /** What a node has answered last, which may be less than the latest. */
  #answered: Header | undefined;
  #pollMs = LONGEST_POLL_MS / 4;
  #idlePolls = 0;

  constructor(options: IndexerOptions, tools: Tools, onProgress: () => void) {
    this.#options = options;
    this.#onProgress = onProgress;
    this.#requests = tools.requests;
    this.#source = tools.source;
    this.#registry = tools.registry;
    this.#doubts = tools.doubts;
  }

  async close(): Promise<void> {
    await this.#recording?.close();
  }

  async run(): Promise<void> {
    const { databaseUrl, signal } = this.#options;
    const recording = await Recording.open(databaseUrl, this.#registry);
    this.#recording = recording;
    await this.#waitForTurn(recording);
    this.#last = await recording.head();
    if (this.#last?.hash === null) {
      throw new Halt(
        `The head of the database, block ${this.#last.number}, has no hash: it was not written by an indexer. Index into a new database.`,
      );
    }
    await this.#learnLatest();
    await this.#doubts.begin(recording, this.#latest?.number ?? 0);
    await this.#registerFirst(recording);
    await this.#doubts.restart(recording, this.#last);
    while (!signal.aborted) {
      const isAhead = await this.#step(recording).catch((error: unknown) =>
        this.#resolve(recording, error),
      );
      this.#onProgress();
      if (!isAhead) await sleep(this.#pollMs, undefined, { signal });
      await this.#learnLatest();
    }
  }

  async #waitForTurn(recording: Recording): Promise<void> {
    const { exchange, signal, onEvent } = this.#options;
    for (let isTold = false; !(await recording.isFirst(exchange)); isTold = true) {
      if (!isTold) {
        const reason = "Another indexer of this exchange writes to the database";
        onEvent?.({ event: "waiting", reason });
      }
      await sleep(LONGEST_POLL_MS, undefined, { signal });
    }
  }

  /** Asks for the head of the chain, and how much of it is final. */
  async #learnLatest(): Promise<void> {
    const { finality, onEvent } = this.#options;
    const before = this.#latest;
    const latest = await this.#source.latest();
    this.#answered = latest;
    // A node may be behind where another is not.
    this.#idlePolls = latest.number > (before?.number ?? -1) ? 0 : this.#idlePolls + 1;
    if (this.#idlePolls > MOST_IDLE_POLLS) {
      this.#idlePolls = 0;
      this.#requests.askElsewhere();
    }
    // Of another node, or late: what is known already stays so.
    if (before !== undefined && latest.number < before.number) return;
    this.#latest = latest;
    if (before !== undefined && latest.number > before.number) {
      const spacing = (latest.time - before.time) / (latest.number - before.number);
      this.#pollMs = Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, spacing * 125));
    }
    if (before?.hash === latest.hash) return;
    onEvent?.({ event: "known", known: latest.number, knownTime: latest.time });
    const finalized = finality === undefined ? await this.#source.finalized() : undefined;
    const final = finalized?.number ?? latest.number - (finality ?? USUAL_FINALITY);
    this.#final = Math.max(this.#final, Math.min(final, latest.number));
  }

  /** The markets that were asked for, and those that were not final when the last indexer ended. */
  async #registerFirst(recording: Recording): Promise<void> {
    const { markets = [], fromBlock } = this.#options;
    const given = markets.map(({ baseGem, quoteGem, active }) =>
      marketFact(baseGem, quoteGem, active),
    );
    await this.#registry.learn(given, this.#latest?.number ?? 0);
    for (const market of markets) this.#registry.checkSymbols(market);
    await recording.registerMarkets(given);
    if (this.#last === undefined) return;
    const from = Math.max(fromBlock, this.#last.number - MARKET_DEPTH);
    const to = Math.min(this.#last.number, this.#latest?.number ?? 0);
    this.#markets = [];
    try {
      const topics = this.#options.decoder.marketTopics;
      for await (const range of readRanges(this.#source, { from, to, topics })) {
        this.#markets.push(...marketsOf(range.facts));
      }
    } catch (error) {
      // The last of these blocks are not final: nodes that disagree on them are waited for.
      if (error instanceof Halt && to > this.#final) throw new Unavailable(error.message);
      throw error;
    }
    await this.#registerFinal(recording);
  }

  async #registerFinal(recording: Recording): Promise<void> {
    const settled = Math.max(this.#final, (this.#last?.number ?? 0) - MARKET_DEPTH);
    const due = this.#markets.filter(({ block }) => block <= settled);
    if (due.length === 0) return;
    await this.#registry.learn(due, this.#latest?.number ?? 0);
    await recording.registerMarkets(due);
    this.#markets = this.#markets.filter(({ block }) => block > settled);
  }

  /** Writes what there is to write. Resolves to whether there may be more. */
  async #step(recording: Recording): Promise<boolean> {
    const latest = this.#latest;
    const last = this.#last;
    if (latest === undefined) return false;
    const next = last === undefined ? this.#options.fromBlock : last.number + 1;
    if (this.#final - next >= FEW && (last === undefined || (await this.#isOn(last)))) {
      this.#doubts.auditAgain();
      // A backfill registers its markets at once, and what these blocks say of a market is older.
      await this.#registerFinal(recording);
      await this.#backfill(recording, next, this.#final);
      return true;
    }
    if (last !== undefined) await this.#doubts.audit(last);
    // As high, or lower: a node that lags, or a branch that is not longer. Neither is a reorganisation.
    if (latest.number < next) return this.#waits(this.#lackOf(next, last));
    const header = latest.number === next ? latest : await this.#source.headerAt(next);
    if (header === undefined) {
      return this.#waits(`The node does not have block ${next}, and named block ${latest.number}`);
    }
    if (last !== undefined && header.parent !== last.hash) {
      if (await this.#goBack(recording, last)) return true;
      return this.#waits(
        `The node has another branch than block ${last.number}, ${last.hash}, and not all blocks of a longer one`,
      );
    }
    const facts = await this.#factsOf(header);
    await this.#doubts.check(recording, facts);
    await this.#write(recording, [{ header, facts }]);
    return true;
  }

  /** What is amiss where the chain has no block `next`; undefined where its head is the database's. */
  #lackOf(next: number, last: Recorded | undefined): string | undefined {
    const { number = -1, hash = "" } = this.#answered ?? {};
    if (number < next - 1 || last === undefined) {
      return `The node is at block ${number}, before block ${next}, which is to be written`;
    }
    if (number >= next || hash === last.hash) return undefined;
    return `The node has ${hash} as block ${number}, and the database ${last.hash}; neither branch is longer`;
  }

  /** Where it has waited for long, says what for. */
  #waits(reason: string | undefined): false {
    const { repeatMs = REPEAT_MS, onEvent } = this.#options;
    const now = performance.now();
    if (reason === undefined) this.#waitsSince = undefined;
    else if (now - (this.#waitsSince ??= now) >= repeatMs) {
      this.#waitsSince = now;
      onEvent?.({ event: "waiting", reason });
    }
    return false;
  }

  async #isOn({ number, hash }: Recorded): Promise<boolean> {
    return (await this.#source.headerAt(number))?.hash === hash;
  }

  /** Reads again what was contradicted, from the first block that may lack a log. */
  async #resolve(recording: Recording, error: unknown): Promise<boolean> {
    if (!(error instanceof Contradiction)) throw error;
    if (await this.#doubts.resolve(recording, this.#last, error)) {
      const last = await recording.head();
      this.#last = last;
      this.#markets = this.#markets.filter(({ block }) => block <= (last?.number ?? -1));
    }
    await this.#doubts.restart(recording, this.#last);
    return true;
  }

  async #backfill(recording: Recording, from: number, to: number): Promise<void> {
    for await (const range of readRanges(this.#source, { from, to, before: this.#last })) {
      this.#options.signal.throwIfAborted();
      const facts = await this.#withTakers(range.facts);
      await this.#doubts.check(recording, facts);
      await this.#registry.learn(facts, this.#latest?.number ?? range.end.number);
      const written = await recording.writeRange({ ...range, facts });
      this.#doubts.written(range.end);
      this.#last = range.end;
      this.#tell(range.end, written, true);
    }
  }

  /** The facts of a block near the head; its tokens are known then. */
  async #factsOf(header: Header): Promise<Fact[]> {
    const facts = await this.#withTakers(await this.#source.factsOf(header));
    await this.#registry.learn(facts, header.number);
    return facts;
  }

  async #withTakers(facts: Fact[]): Promise<Fact[]> {
    return this.#options.taker === "sender" ? withSenders(facts, this.#requests) : facts;
  }

  async #write(recording: Recording, blocks: readonly Block[], takeBackTo?: number): Promise<void> {
    const written = await recording.writeBlocks(blocks, takeBackTo);
    const header = blocks.at(-1)?.header;
    if (header === undefined) return;
    if (takeBackTo === undefined) this.#doubts.written(header);
    this.#last = header;
    if (takeBackTo !== undefined) {
      this.#markets = this.#markets.filter(({ block }) => block <= takeBackTo);
    }
    this.#markets.push(...marketsOf(blocks.flatMap(({ facts }) => facts)));
    await this.#registerFinal(recording);
    this.#tell(header, written, false);
  }

  /**
   * Follows the chain to another branch: down to the last block that both have, and up again to a block that is higher
   * than ours. Only when all of that branch is read is it written, in one transaction.
   */
  async #goBack(recording: Recording, last: Recorded): Promise<boolean> {
    const ancestor = await this.#findAncestor(recording, last);
    if (ancestor === undefined) return false;
    if (ancestor.number === last.number) {
      throw new Unavailable(
        `block ${last.number + 1} does not follow block ${last.number}, ${last.hash ?? ""}, which the node has`,
      );
    }
    const blocks: Block[] = [];
    let parent = ancestor.hash;
    for (let number = ancestor.number + 1; number <= last.number + 1; number += 1) {
      const header = await this.#source.headerAt(number);
      // The branch is not longer, or the node has turned to another one meanwhile.
      if (header === undefined) return false;
      if (header.parent !== parent) return false;
      parent = header.hash;
      blocks.push({ header, facts: await this.#factsOf(header) });
    }
    const { onEvent } = this.#options;
    const facts = blocks.flatMap((block) => block.facts);
    const made = this.#doubts.lastMadeBy(facts, ancestor.number);
    await this.#write(recording, blocks, ancestor.number);
    await this.#doubts.restart(recording, this.#last, made);
    onEvent?.({
      event: "reorganisation",
      ancestor: ancestor.number,
      depth: last.number - ancestor.number,
    });
    return true;
  }

  /** The last block that the database and the chain have; undefined where the node does not have the heights. */
  async #findAncestor(recording: Recording, last: Recorded): Promise<Recorded | undefined> {
    const final = this.#finalAt(last);
    for (
      let ours: Recorded | undefined = last;
      ours !== undefined && ours.number >= final;
      ours = await recording.blockUpTo(ours.number - 1)
    ) {
      const theirs = await this.#source.headerAt(ours.number);
      if (theirs === undefined) return undefined;
      if (theirs.hash === ours.hash) return ours;
    }
    throw new Halt(
      `The chain has another branch below block ${final}, which is final: the database's head is block ${last.number}, ${last.hash ?? ""}. Nothing was taken back. Either the node is of another chain, or the finality is set too low.`,
      EXIT.deepReorganisation,
    );
  }

  /** The block that was final when `last` was written. */
  #finalAt(last: Recorded): number {
    if (this.#finalWhenWritten !== undefined) return this.#finalWhenWritten;
    // An earlier run has written it, and the chain has gone on since.
    return Math.min(this.#final, last.number - (this.#options.finality ?? USUAL_FINALITY));
  }

  #tell(
    header: Header,
    { rows, leftOut }: { rows: number; leftOut: number },
    isBackfill: boolean,
  ): void {
    const known = this.#latest ?? header;
    this.#waitsSince = undefined;
    this.#finalWhenWritten = this.#final;
    this.#onProgress();
    this.#options.onEvent?.({
      event: "written",
      indexed: header.number,
      time: header.time,
      known: known.number,
      knownTime: known.time,
      rows,
      leftOut,
      isBackfill,
    });
  }
}

const marketFact = (base: string, quote: string, active: boolean): MarketFact => ({
  ...{ kind: "market", base, quote, active },
  // It is of no block.
  ...{ block: 0, hash: "", tx: "", idx: 0 },
});

/** Whether it may pass: a node or a database that is not there, or says that it is busy. */
function isTransient(error: unknown): boolean {
  if ([Unavailable, Refused, RangeRefused].some((kind) => error instanceof kind)) return true;
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code === "string") return /^(E[A-Z]+|08...|57P..|53...|40...|55P03|57014)$/.test(code);
  return /Connection terminated|Client has encountered a connection error|timeout expired/i.test(
    message ?? "",
  );
}
