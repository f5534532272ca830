// Follows a chain: fills the database with the blocks that are final, then writes each new block, and goes back
// with the chain where it reorganises.
import { setTimeout as sleep } from "node:timers/promises";
import type { Header } from "./answers.ts";
import { audit, lastOfferAt, NotAudited } from "./audit.ts";
import type { Decoder, Fact, MarketFact } from "./facts.ts";
import type { GivenMarket } from "./given-markets.ts";
import { EXIT, Halt } from "./halt.ts";
import { Contradiction, Ledger } from "./ledger.ts";
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
  signal: AbortSignal;
  onEvent?: ((event: IndexerEvent) => void) | undefined;
}

export type IndexerEvent =
  /** Another indexer of this exchange runs. */
  | { event: "waiting" }
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
const LAST_RETRY_MS = 10_000;

/** Runs until the signal; then it resolves. Throws a `Halt` where it cannot be sure of what is right. */
export async function runIndexer(options: IndexerOptions): Promise<void> {
  const { signal, onEvent = () => undefined, backoffMs = FIRST_RETRY_MS } = options;
  let retryMs = backoffMs;
  let failed = "";
  const trust: Trust = {
    isAudited: false,
    isToldOfKind: false,
    doubts: new Map(),
    ledger: new Ledger(),
  };
  while (!signal.aborted) {
    const session = new Session(options, trust, () => {
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
      if (reason !== failed) onEvent({ event: "failure", reason });
      failed = reason;
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    } finally {
      await session.close();
    }
  }
}

/** How far the rows in the database are believed, over all sessions. */
interface Trust {
  /** Whether the open offers were compared with the contract's state after the last backfill. */
  isAudited: boolean;
  /** Whether it was told that the contract is perhaps of another kind. */
  isToldOfKind: boolean;
  /** How often each contradiction came up. */
  doubts: Map<string, number>;
  ledger: Ledger;
}

/** From a connection to the database to its end, or to a failure. */
class Session {
  readonly #options: IndexerOptions;
  readonly #trust: Trust;
  readonly #ledger: Ledger;
  readonly #onProgress: () => void;
  readonly #requests: Requests;
  readonly #source: ChainSource;
  readonly #registry: Registry;
  #recording: Recording | undefined;
  #last: Recorded | undefined;
  #latest: Header | undefined;
  /** The highest block that was ever called final. */
  #final = -1;
  /** Market facts of blocks that are not final. */
  #markets: MarketFact[] = [];
  #isOfKind = false;
  /** The block that was final when this session wrote its last block. */
  #finalWhenWritten: number | undefined;
  #pollMs = LONGEST_POLL_MS / 4;
  #idlePolls = 0;

  constructor(options: IndexerOptions, trust: Trust, onProgress: () => void) {
    const { rpcUrls, exchange, decoder, signal, onEvent = () => undefined } = options;
    this.#options = options;
    this.#trust = trust;
    this.#ledger = trust.ledger;
    this.#onProgress = onProgress;
    this.#requests = new Requests({
      urls: rpcUrls,
      perSecond: options.requestsPerSecond,
      timeoutMs: options.requestTimeoutMs,
      backoffMs: options.backoffMs,
      signal,
      onRequest: (method, outcome) => onEvent({ event: "request", method, outcome }),
    });
    this.#source = new ChainSource({
      requests: this.#requests,
      exchange,
      decoder,
      signal,
      doubtMs: options.backoffMs,
      onDoubt: (reason) => {
        this.#trust.isAudited = false;
        onEvent({ event: "doubt", reason });
      },
    });
    this.#registry = new Registry({
      requests: this.#requests,
      onLeftOut: (reason) => onEvent({ event: "leftOut", reason }),
    });
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
    await this.#learnKind();
    await this.#checkExchange(recording);
    await this.#registerFirst(recording);
    await this.#restartLedger(recording);
    while (!signal.aborted) {
      const isAhead = await this.#step(recording).catch((error: unknown) =>
        this.#doubt(recording, error),
      );
      this.#onProgress();
      if (!isAhead) await sleep(this.#pollMs, undefined, { signal });
      await this.#learnLatest();
    }
  }

  async #waitForTurn(recording: Recording): Promise<void> {
    const { exchange, signal, onEvent } = this.#options;
    for (let isTold = false; !(await recording.isFirst(exchange)); isTold = true) {
      if (!isTold) onEvent?.({ event: "waiting" });
      await sleep(LONGEST_POLL_MS, undefined, { signal });
    }
  }

  /** Halts where the rows of the database are of another exchange. */
  async #checkExchange(recording: Recording): Promise<void> {
    const newest = await recording.newestRow();
    if (newest === undefined) return;
    const header = await this.#source.headerAt(newest.block);
    // Of another branch, or not known there: that is seen later.
    if (header?.hash !== newest.hash) return;
    const facts = await this.#source.factsOf(header);
    if (facts.some(({ tx }) => tx === newest.tx)) return;
    throw new Halt(
      `The database has rows of another exchange: ${this.#options.exchange} has no log in the transaction ${newest.tx} of block ${newest.block}.`,
    );
  }

  /**
   * Whether the contract tells its last offer, as this kind of exchange does. Only then is it believed to count its
   * offers, and to say what is left of one that is cancelled.
   */
  async #learnKind(): Promise<void> {
    const { exchange, decoder, onEvent } = this.#options;
    const { number = 0 } = this.#latest ?? {};
    const id = await lastOfferAt(
      { requests: this.#requests, exchange, decoder },
      { number, hash: null },
    );
    this.#isOfKind = id !== undefined;
    if (this.#isOfKind || this.#trust.isToldOfKind) return;
    this.#trust.isToldOfKind = true;
    onEvent?.({
      event: "doubt",
      reason: `The contract ${exchange} does not tell its last offer in block ${number}: its logs are not compared with its state`,
    });
  }

  /** Asks for the head of the chain, and how much of it is final. */
  async #learnLatest(): Promise<void> {
    const { finality, onEvent } = this.#options;
    const before = this.#latest;
    const latest = await this.#source.latest();
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
      for await (const range of readRanges(this.#source, { from, to })) {
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
      this.#trust.isAudited = false;
      await this.#backfill(recording, next, this.#final);
      return true;
    }
    if (!this.#trust.isAudited && last !== undefined) await this.#audit(last);
    // As high, or lower: a node that lags, or a branch that is not longer. Neither is a reorganisation.
    if (latest.number < next) return false;
    const header = latest.number === next ? latest : await this.#source.headerAt(next);
    if (header === undefined) return false;
    if (last !== undefined && header.parent !== last.hash) return this.#goBack(recording, last);
    const facts = await this.#factsOf(header);
    this.#check(facts);
    await this.#write(recording, [{ header, facts }]);
    return true;
  }

  async #isOn({ number, hash }: Recorded): Promise<boolean> {
    return (await this.#source.headerAt(number))?.hash === hash;
  }

  #check(facts: readonly Fact[]): void {
    if (this.#isOfKind) this.#ledger.add(facts, this.#options.decoder.idsAreConsecutive);
  }

  /** Compares what a lost log would have changed. A session that ends before it leaves it to the next. */
  async #audit(last: Recorded): Promise<void> {
    const { exchange, decoder, onEvent } = this.#options;
    if (!this.#isOfKind) return;
    try {
      await audit({
        ...{ requests: this.#requests, exchange, decoder },
        ledger: this.#ledger,
        block: last,
      });
    } catch (error) {
      if (!(error instanceof NotAudited)) throw error;
      // Of another branch: that is seen next.
      if (!(await this.#isOn(last))) return;
      onEvent?.({
        event: "doubt",
        reason: `The open offers are not compared with the contract's state: ${error.message}`,
      });
    }
    this.#trust.isAudited = true;
  }

  /**
   * What the database has is known, and what was known of the blocks up to `kept`. Which offer is the last, the
   * database cannot tell, since it does not have all of them: the contract is asked.
   */
  async #restartLedger(recording: Recording, kept = this.#last?.number ?? -1): Promise<void> {
    const { exchange, decoder, fromBlock } = this.#options;
    this.#ledger.restart(await recording.openOffers(), kept);
    if (this.#ledger.lastMade !== undefined || !this.#isOfKind) return;
    const block = this.#last ?? { number: Math.max(0, fromBlock - 1), hash: null };
    const id = await lastOfferAt({ requests: this.#requests, exchange, decoder }, block, 0);
    if (id !== undefined) this.#ledger.learnLastMade(id, Math.max(block.number, fromBlock));
  }

  /**
   * What was read cannot all be right. What is not written yet is read again; then what is written, from the first
   * block that may lack a log; then it stops, with nothing in the database that is doubtful.
   */
  async #doubt(recording: Recording, error: unknown): Promise<boolean> {
    if (!(error instanceof Contradiction)) throw error;
    const { doubts } = this.#trust;
    const times = (doubts.get(error.message) ?? 0) + 1;
    doubts.set(error.message, times);
    const reason = `A log is missing: ${error.message}`;
    const to = Math.max(0, error.since - 1);
    const isWritten = this.#last !== undefined && this.#last.number > to;
    if (times > 1 && isWritten) {
      await recording.takeBack(to);
      this.#last = await recording.head();
      this.#markets = this.#markets.filter(({ block }) => block <= to);
    }
    if (times > 2) {
      throw new Halt(
        `${reason}. The database has what is certain, the blocks up to ${this.#last?.number ?? "none"}.`,
      );
    }
    this.#options.onEvent?.({ event: "failure", reason });
    this.#requests.askElsewhere();
    await this.#restartLedger(recording);
    return true;
  }

  async #backfill(recording: Recording, from: number, to: number): Promise<void> {
    for await (const range of readRanges(this.#source, { from, to, before: this.#last })) {
      this.#options.signal.throwIfAborted();
      const facts = await this.#withTakers(range.facts);
      this.#check(facts);
      await this.#registry.learn(facts, this.#latest?.number ?? range.end.number);
      const written = await recording.writeRange({ ...range, facts });
      this.#ledger.written();
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
    if (takeBackTo === undefined) this.#ledger.written();
    const header = blocks.at(-1)?.header;
    if (header === undefined) return;
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
    await this.#write(recording, blocks, ancestor.number);
    await this.#restartLedger(recording, ancestor.number);
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
