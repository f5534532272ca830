// The blocks of a chain with the facts of one exchange, as far as a node's answers can be believed.
import { setTimeout as sleep } from "node:timers/promises";
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
      if (header !== undefined && block.startsWith("0x") && header.number !== Number(block)) {
        throw new Error(`block ${Number(block)} was asked for, and block ${header.number} came`);
      }
      return header;
    });
  }

  /**
   * The facts of one block. Its header tells whether it can have any. If so, all its logs are asked by its hash:
   * their indexes and the header's bloom show whether one is missing.
   */
  async factsOf(header: Header): Promise<Fact[]> {
    const { requests, decoder } = this.#options;
    const bloom = new Bloom(header.logsBloom);
    const mayHave =
      bloom.mayHave(this.#exchange) && decoder.topics.some((topic) => bloom.mayHave(topic));
    if (!mayHave && !bloom.isEmpty) return [];
    return this.#untilSure(`The logs of block ${header.number}`, async () => {
      const blockHash = header.hash;
      let logs: ChainLog[];
      if (bloom.isEmpty) {
        // A chain without blooms, or a block without logs.
        logs = await requests.ask("eth_getLogs", [{ blockHash, ...this.#filter() }], readLogs);
      } else {
        logs = await requests.ask("eth_getLogs", [{ blockHash }], readLogs);
        checkWhole(logs, bloom);
      }
      checkBlocks(logs, new Map([[header.number, header.hash]]));
      return this.#decode(logs);
    });
  }

  /**
   * The facts of the blocks from `from` to `to`, both included, and the block `to`. `before` is the block before
   * `from`, where it is known: the answer must be of its chain.
   */
  async range(
    from: number,
    to: number,
    before?: { number: number; hash: string | null },
  ): Promise<Range> {
    if (from === to) {
      const end = existing(await this.headerAt(to), to);
      if (before?.number === to - 1 && before.hash !== null && before.hash !== end.parent) {
        throw new Unavailable(`block ${to} there does not follow block ${before.number} here`);
      }
      return { from, end, facts: await this.factsOf(end) };
    }
    return this.#untilSure(`The logs of blocks ${from} to ${to}`, async () => {
      const [logs, end] = await this.#askRange(from, to, before);
      const known = new Map([[to, end.hash]]);
      checkBlocks(logs, known);
      if (logs.some(({ block }) => block < from || block > to)) {
        throw new IncompleteLogs("a log is of another block");
      }
      const facts = this.#decode(logs);
      if (logs.length > 0) return { from, end, facts };
      // Nothing is cheap to ask twice, and is what a node without these blocks answers.
      this.#options.requests.askElsewhere();
      const [again] = await this.#askRange(from, to, before);
      if (again.length === 0) return { from, end, facts };
      throw new IncompleteLogs("none at first, and some when asked again");
    });
  }

  async #askRange(
    from: number,
    to: number,
    before: { number: number; hash: string | null } | undefined,
  ): Promise<[ChainLog[], Header]> {
    const { requests } = this.#options;
    // At once, so that they are one HTTP request and one node behind a balancer answers them.
    const [logs, end, start] = await Promise.all([
      requests
        .ask(
          "eth_getLogs",
          [{ fromBlock: hex(from), toBlock: hex(to), ...this.#filter() }],
          readLogs,
        )
        .catch((error: unknown) => {
          throw refusedRange(error);
        }),
      this.headerAt(to),
      before?.hash == null ? undefined : this.headerAt(before.number),
    ]);
    if (before?.hash != null && start?.hash !== before.hash) {
      throw new IncompleteLogs(
        `block ${before.number} is ${start?.hash ?? "unknown"} there, and ${before.hash} here`,
      );
    }
    if (end === undefined) throw new IncompleteLogs(`the node does not have block ${to}`);
    return [logs, end];
  }

  #filter(): { address: string; topics: string[][] } {
    return { address: this.#exchange, topics: [[...this.#options.decoder.topics]] };
  }

  #decode(logs: readonly ChainLog[]): Fact[] {
    const { decoder } = this.#options;
    const topics = new Set<string>(decoder.topics);
    return decoder.decode(
      logs.filter(
        ({ address, topics: [kind = ""] }) => address === this.#exchange && topics.has(kind),
      ),
    );
  }

  /** Asks again, and elsewhere, what cannot be right. Halts where it stays so. */
  async #untilSure<T>(what: string, ask: () => Promise<T>): Promise<T> {
    const { requests, signal, doubtMs = DOUBT_MS } = this.#options;
    let doubt: Error | undefined;
    for (let attempt = 0; attempt < ATTEMPTS * requests.size; attempt += 1) {
      if (doubt !== undefined) {
        requests.askElsewhere();
        const wait = doubtMs * 2 ** Math.floor(attempt / requests.size);
        await sleep(Math.min(wait, LONGEST_DOUBT_MS), undefined, { signal });
      }
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof IncompleteLogs) && !(error instanceof Refused)) throw error;
        doubt = error;
      }
    }
    // A node that does not have the block yet refuses: that is waited for.
    if (doubt instanceof Refused) throw new Unavailable(doubt.message);
    throw new Halt(`${what} are not whole, also when asked again: ${doubt?.message ?? ""}.`);
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`;

function existing(header: Header | undefined, block: number | string): Header {
  if (header === undefined) throw new Unavailable(`the node does not have block ${block}`);
  return header;
}

/** Throws where a log of the block is missing: all have an index from 0, and fill the header's bloom. */
function checkWhole(logs: readonly ChainLog[], bloom: Bloom): void {
  const gap = logs.findIndex(({ idx }, at) => idx !== at);
  if (gap !== -1) throw new IncompleteLogs(`the log ${gap} is missing`);
  const items = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]));
  if (!bloom.isMadeOf(items)) {
    throw new IncompleteLogs("the header's bloom has addresses or topics that no log has");
  }
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
