// The blocks of a chain with the facts of one exchange, as far as a node's answers can be believed.
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { readHeader, readLogs, type Header } from "./answers.ts";
import { Bloom } from "./bloom.ts";
import { IncompleteLogs, type ChainLog, type Decoder, type Fact } from "./facts.ts";
import { Halt } from "./halt.ts";
import { Refused, Unavailable, type Requests } from "./requests.ts";

export interface SourceOptions {
  requests: Requests;
  /** Address of the exchange's contract. */
  exchange: string;
  decoder: Decoder;
  signal: AbortSignal;
  /** Wait before doubtful logs are asked again, in milliseconds; it doubles with each time. */
  doubtMs?: number | undefined;
  /** Hears what is believed although logs may be missing. */
  onDoubt?: ((reason: string) => void) | undefined;
}

/** A block with its facts. */
export interface Block {
  header: Header;
  facts: Fact[];
}

/** The facts of consecutive blocks. */
export interface Range {
  from: number;
  /** The last block. */
  end: Header;
  facts: Fact[];
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

/** How often doubtful logs are asked before the indexer stops. */
const ATTEMPTS = 6;
const DOUBT_MS = 100;
const LONGEST_DOUBT_MS = 5000;

export class ChainSource {
  readonly #options: SourceOptions;
  readonly #exchange: string;
  /** Whether a block's logs ever filled its header's bloom. */
  #servesWholeBlocks = false;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.#exchange = options.exchange.toLowerCase();
  }

  /** The last block that the node knows. */
  async latest(): Promise<Header> {
    return existing(await this.#header("latest"), "latest");
  }

  /** The last block that the chain takes for final; undefined where it names none. */
  async finalized(): Promise<Header | undefined> {
    try {
      return await this.#header("finalized");
    } catch (error) {
      if (error instanceof Refused) return undefined;
      throw error;
    }
  }

  /** A block of the node's chain by its number; undefined where the node does not have it. */
  headerAt(number: number): Promise<Header | undefined> {
    return this.#header(hex(number));
  }

  #header(block: string): Promise<Header | undefined> {
    return this.#options.requests.ask("eth_getBlockByNumber", [block, false], (result) => {
      const header = readHeader(result);
      // Every node has one, so that another is asked.
      if (header === undefined && block === "latest") {
        throw new Error("it does not have block latest");
      }
      if (header !== undefined && block.startsWith("0x") && header.number !== Number(block)) {
        throw new Error(`block ${Number(block)} was asked for, and block ${header.number} came`);
      }
      return header;
    });
  }

  /**
   * The facts of one block. Its header tells whether it can have any. If so, all its logs are asked by its hash:
   * their indexes and the header's bloom show whether one is missing. Then it halts, unless the nodes have never
   * served a whole block: of a recording with the logs of one contract alone, what is asked often enough is believed.
   */
  async factsOf(header: Header): Promise<Fact[]> {
    const { requests, decoder } = this.#options;
    const { number, hash } = header;
    let isAgain = false;
    return this.#untilSure(`The logs of block ${number}`, async () => {
      // It may be the header that is wrong.
      const bloom = Bloom.read((isAgain ? await this.#again(header) : header).logsBloom);
      isAgain = true;
      // An empty bloom says nothing: there are chains without blooms.
      if (!bloom.isEmpty) {
        const mayHave = [[this.#exchange], decoder.topics].every((items) =>
          items.some((item) => bloom.covers(Bloom.of([item]))),
        );
        if (!mayHave) return [];
      }
      const logs = await requests.ask("eth_getLogs", [{ blockHash: hash }], readLogs);
      const other = logs.find((log) => log.block !== number);
      if (other !== undefined) throw new IncompleteLogs(`a log of block ${other.block} is there`);
      checkBlocks(logs, new Map([[number, hash]]));
      const lack = lackOf(logs, bloom);
      const facts = this.#decode(logs);
      if (lack !== undefined) throw new NotWhole(lack, facts);
      if (logs.length > 0) this.#servesWholeBlocks = true;
      return facts;
    });
  }

  /** The header of a block as it is told now. */
  async #again({ number, hash }: Header): Promise<Header> {
    const again = existing(await this.headerAt(number), number);
    if (again.hash === hash) return again;
    throw new Unavailable(`block ${number} was ${hash}, and is ${again.hash} when asked again`);
  }

  /**
   * The facts of the blocks from `from` to `to`, both included, and the block `to`. `before` is the block before
   * `from`, where it is known: the answer must be of its chain. With `topics`, only logs of these are read.
   */
  async range(
    from: number,
    to: number,
    before?: { number: number; hash: string | null },
    topics = this.#options.decoder.topics,
  ): Promise<Range> {
    return this.#untilSure(`The logs of blocks ${from} to ${to}`, async () => {
      if (from === to) {
        const { end } = await this.#ends(to, before);
        return { from, end, facts: await this.factsOf(end) };
      }
      const logs = await this.#logs(from, to, topics);
      const last = logs.at(-1);
      // A list that was cut at some limit, or by a node without the last blocks, lacks its end: that is asked again.
      // Nothing at all is what a node without these blocks answers, so another one is asked.
      if (last === undefined) this.#options.requests.askElsewhere();
      const since = last?.block ?? from;
      const { marketTopics } = this.#options.decoder;
      const [tail, markets, { end, at }] = await Promise.all([
        this.#logs(since, to, topics),
        this.#logs(from, to, marketTopics),
        this.#ends(to, before, last?.block),
      ]);
      // No later log would show that one of a market is missing.
      if (!isDeepStrictEqual(markets, logs.filter(isOf(marketTopics)))) {
        throw new IncompleteLogs("the logs of its markets are others when asked alone");
      }
      const told = logs.filter(({ block }) => block >= since);
      if (!isDeepStrictEqual(tail, told)) {
        throw new IncompleteLogs(
          `the blocks ${since} to ${to} have ${told.length} logs in one answer, and ${tail.length} or others in the next`,
        );
      }
      checkBlocks(logs, new Map([end, ...at].map(({ number, hash }) => [number, hash])));
      return { from, end, facts: this.#decode(logs) };
    });
  }

  /** Logs of the exchange alone, and of these blocks. */
  async #logs(from: number, to: number, topics: readonly string[]): Promise<ChainLog[]> {
    const { requests } = this.#options;
    const filter = { address: this.#exchange, topics: [topics] };
    const logs = await requests
      .ask("eth_getLogs", [{ fromBlock: hex(from), toBlock: hex(to), ...filter }], readLogs)
      .catch((error: unknown) => {
        throw refusedRange(error);
      });
    const foreign = logs.find(
      ({ address, block }) => address !== this.#exchange || block < from || block > to,
    );
    if (foreign === undefined) return logs;
    throw new IncompleteLogs(
      `a log of ${foreign.address} in block ${foreign.block} came, which was not asked for`,
    );
  }

  /**
   * The block `to`, and the block `at`. They are of the chain that has the block `before`, and `to` is the parent
   * of the block after it, where there is one: a header alone is believed by nobody.
   */
  async #ends(
    to: number,
    before: { number: number; hash: string | null } | undefined,
    at = to,
  ): Promise<{ end: Header; at: Header[] }> {
    const { hash: known = null, number = 0 } = before ?? {};
    const [end, child, start, other] = await Promise.all([
      this.headerAt(to),
      this.headerAt(to + 1),
      known === null ? undefined : this.headerAt(number),
      at === to ? undefined : this.headerAt(at),
    ]);
    const last = existing(end, to);
    if (known !== null) {
      const { hash } = existing(start, number);
      if (hash !== known) {
        throw new IncompleteLogs(`block ${number} is ${hash} there, and ${known} here`);
      }
      if (number === to - 1 && last.parent !== known) {
        throw new IncompleteLogs(`block ${to} does not follow block ${number} there`);
      }
    }
    if (child !== undefined && child.parent !== last.hash) {
      throw new IncompleteLogs(
        `block ${to} is ${last.hash}, and the parent of block ${to + 1} is ${child.parent}`,
      );
    }
    return { end: last, at: at === to ? [] : [existing(other, at)] };
  }

  #decode(logs: readonly ChainLog[]): Fact[] {
    const { decoder } = this.#options;
    const isRead = isOf(decoder.topics);
    return decoder.decode(logs.filter((log) => log.address === this.#exchange && isRead(log)));
  }

  /** Asks again, and elsewhere, what cannot be right. Halts where it stays so. */
  async #untilSure<T>(what: string, ask: () => Promise<T>): Promise<T> {
    const { requests, signal, doubtMs = DOUBT_MS } = this.#options;
    let doubt: Error | undefined;
    let asked = requests.current;
    for (let attempt = 0; attempt < ATTEMPTS * requests.size; attempt += 1) {
      if (doubt !== undefined) {
        // Of two nodes the same one would be asked again, where the attempt itself has turned to the other.
        if (requests.current === asked) requests.askElsewhere();
        asked = requests.current;
        const wait = doubtMs * 2 ** Math.floor(attempt / requests.size);
        await sleep(Math.min(wait, LONGEST_DOUBT_MS), undefined, { signal });
      }
      try {
        return await ask();
      } catch (error) {
        const isDoubtful =
          error instanceof IncompleteLogs || error instanceof Refused || error instanceof NoBlock;
        if (!isDoubtful) throw error;
        doubt = error;
      }
    }
    // A node that does not have the block yet says so, or refuses: that is waited for.
    if (!(doubt instanceof IncompleteLogs)) throw new Unavailable(doubt?.message);
    if (doubt instanceof NotWhole && !this.#servesWholeBlocks) {
      this.#options.onDoubt?.(`${what} are believed, but may not be whole: ${doubt.message}`);
      return doubt.facts as T;
    }
    throw new Halt(`${what} are not whole, also when asked again: ${doubt.message}.`);
  }
}

/** A block's logs are in order by themselves, and others of the block are missing. */
class NotWhole extends IncompleteLogs {
  readonly facts: Fact[];

  constructor(message: string, facts: Fact[]) {
    super(message);
    this.facts = facts;
  }
}

/** The node does not have a block that it must have. */
class NoBlock extends Unavailable {}

/** Whether a log is of one of these kinds. */
function isOf(kinds: readonly string[]): (log: ChainLog) => boolean {
  const known = new Set(kinds);
  return ({ topics: [kind = ""] }) => known.has(kind);
}

const hex = (number: number): string => `0x${number.toString(16)}`;

function existing(header: Header | undefined, block: number | string): Header {
  if (header === undefined) throw new NoBlock(`the node does not have block ${block}`);
  return header;
}

/**
 * What shows that a log of the block is missing: all have an index from 0, and fill the header's bloom if it has one.
 * Throws where a log cannot be of the block.
 */
function lackOf(logs: readonly ChainLog[], bloom: Bloom): string | undefined {
  const itemsOf = ({ address, topics }: ChainLog): string[] => [address, ...topics];
  const ofLogs = Bloom.of(new Set(logs.flatMap(itemsOf)));
  if (!bloom.isEmpty && !bloom.covers(ofLogs)) {
    const other = logs.find((log) => !bloom.covers(Bloom.of(itemsOf(log))));
    throw new IncompleteLogs(
      `the header's bloom does not have the log ${other?.idx}, of ${other?.address}`,
    );
  }
  const gap = logs.findIndex(({ idx }, at) => idx !== at);
  if (gap !== -1) return `the log ${gap} is missing`;
  if (bloom.isEmpty || ofLogs.covers(bloom)) return undefined;
  return "the header's bloom has addresses or topics that no log has";
}

/** Throws where two logs of one block differ in its hash, or are one. */
function checkBlocks(logs: readonly ChainLog[], hashes: Map<number, string>): void {
  let before: ChainLog | undefined;
  for (const log of logs) {
    const hash = hashes.get(log.block);
    if (hash === undefined) hashes.set(log.block, log.hash);
    else if (hash !== log.hash) {
      throw new IncompleteLogs(`block ${log.block} is both ${hash} and ${log.hash}`);
    }
    if (before?.block === log.block && before.idx === log.idx) {
      throw new IncompleteLogs(`the log ${log.idx} of block ${log.block} came twice`);
    }
    before = log;
  }
}

const TOO_MUCH = /time(d )?out|took too long|too (large|many)|limit|exceed/i;

/** Whatever a node has against a range of blocks, it may take a smaller one. */
function refusedRange(error: unknown): unknown {
  const isTooMuch = error instanceof Unavailable && TOO_MUCH.test(error.message);
  if (!(error instanceof Refused) && !isTooMuch) return error;
  const [, , end] = /\[0x([0-9a-f]+),\s*0x([0-9a-f]+)\]/i.exec(error.message) ?? [];
  return new RangeRefused(error.message, end === undefined ? undefined : Number(`0x${end}`));
}
