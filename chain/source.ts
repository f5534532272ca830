// The blocks of a chain with the facts of its exchanges, as far as a node's answers can be believed.
import { isDeepStrictEqual } from "node:util";
import { numberToHex } from "viem";
import { readLogs, type Header } from "./node-answers.ts";
import { askForGood } from "./contract-state.ts";
import { Contracts } from "./contracts.ts";
import { existing, Headers } from "./block-headers.ts";
import { Knowledge, KnownContracts, type FoundContract } from "./known-contracts.ts";
import {
  IncompleteLogs,
  type BlockFact,
  type ChainLog,
  type Decoder,
  type Fact,
} from "./exchange-facts.ts";
import type { IndexerOptions } from "./indexer-options.ts";
import { refusedRange, Unavailable } from "./requests.ts";
import { withSenders, withTimes } from "./times-and-senders.ts";
import { UntilSure, type UntilSureOptions } from "./until-sure.ts";
import {
  Bloom,
  checkBlocks,
  checkTimes,
  lackOf,
  NotWhole,
  systemTransaction,
} from "./wholeness.ts";

interface SourceOptions
  extends UntilSureOptions, Pick<IndexerOptions, "exchange" | "decoder" | "others" | "taker"> {
  /** What the database has found out about contracts. */
  known?: KnownContracts | undefined;
}

/** A block with its facts. */
export interface Block<F = Fact> {
  header: Header;
  facts: F[];
  /** Contracts that are known by this block, and were not before. */
  found: FoundContract[];
}

/** The facts of consecutive blocks. */
export interface Range<F = Fact> {
  from: number;
  /** The last block. */
  end: Header;
  facts: F[];
  found: FoundContract[];
}

export class ChainSource extends Headers {
  readonly #options: SourceOptions;
  readonly #contracts: Contracts;
  readonly #sure: UntilSure;
  readonly #known: KnownContracts;
  /** Up to this block no bloom is believed that says that a block has no facts. */
  #bloomsDoubtedTo = -1;

  constructor(options: SourceOptions) {
    super(options.requests);
    this.#options = options;
    this.#sure = new UntilSure(options);
    this.#contracts = new Contracts(options, options.others);
    this.#known = options.known ?? new KnownContracts(() => undefined);
  }

  /** What is known while the blocks from this one on are read in order; it takes what each of them finds. */
  knownFrom(block: number): Knowledge {
    return new Knowledge(this.#known, block);
  }

  /** Topic 0 of the events that list and delist markets. */
  get marketTopics(): Decoder["marketTopics"] {
    return this.#contracts.marketTopics;
  }

  /** Topic 0 of the logs by which factories make contracts. */
  get factoryTopics(): Decoder["topics"] {
    return this.#contracts.factoryTopics;
  }

  /** From now on the logs of blocks up to this one are asked, whatever their blooms say. */
  doubtBlooms(to: number): void {
    this.#bloomsDoubtedTo = Math.max(to, this.#bloomsDoubtedTo);
  }

  /**
   * A block with its facts. Its header shows whether it can have any. If so, all its logs are asked by its hash:
   * their indexes and the header's bloom show whether one is missing. With `topics`, only logs of these are read.
   */
  async blockOf(
    header: Header,
    known = this.knownFrom(header.number),
    topics = this.#contracts.topics,
  ): Promise<Block<BlockFact>> {
    const { requests } = this.#options;
    const { number, hash } = header;
    let asked: Header | undefined;
    return this.#sure.ask(`The logs of block ${number}`, async () => {
      // It may be the header that is wrong.
      asked = asked === undefined ? header : await this.#again(header);
      const bloom = Bloom.read(asked.logsBloom);
      // An empty bloom says nothing: there are chains without blooms.
      if (!bloom.isEmpty && number > this.#bloomsDoubtedTo) {
        const mayHave = this.#contracts.mayBeIn((item) => bloom.covers(Bloom.of([item])), known);
        if (!mayHave) return { header: asked, facts: [], found: [] };
      }
      const logs = await requests.ask("eth_getLogs", [{ blockHash: hash }], readLogs);
      const other = logs.find((log) => log.block !== number);
      if (other !== undefined) throw new IncompleteLogs(`a log of block ${other.block} is there`);
      checkBlocks(logs, new Map([[number, hash]]));
      const lack = lackOf(logs, bloom, systemTransaction(requests.chainId, header));
      const { time } = asked;
      const timed = logs.filter(isOf(topics)).map((log) => ({ ...log, time: log.time ?? time }));
      const block = { header: asked, ...(await this.#decode(timed, [asked], known)) };
      checkTimes(block.facts, [asked]);
      if (lack !== undefined) throw new NotWhole(lack, block);
      if (logs.length > 0) this.#sure.sawWholeBlock();
      return block;
    });
  }

  /** The header of a block as the node returns it now. */
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
    topics = this.#contracts.topics,
    known = this.knownFrom(from),
  ): Promise<Range<BlockFact>> {
    return this.#sure.ask(`The logs of blocks ${from} to ${to}`, async () => {
      if (from === to) {
        const { end } = await this.#ends(to, before);
        const { header, ...read } = await this.blockOf(end, known, topics);
        if (read.facts.length + read.found.length === 0) await this.#checkEmpty(end, topics, known);
        return { from, end: header, ...read };
      }
      let addresses = this.#contracts.addresses(known);
      let logs = await this.#logs(from, to, topics, addresses);
      const made = this.#contracts.madeBy(logs, known);
      if (addresses !== undefined && made.length > 0) {
        // A list could not name them before.
        addresses = this.#contracts.addresses(known, made);
        logs = await this.#logs(from, to, topics, addresses);
      }
      const last = logs.at(-1);
      // A list that was cut at some limit, or by a node without the last blocks, lacks its end: that is asked again.
      // Nothing at all is what a node without these blocks answers, so another one is asked.
      if (last === undefined) this.#options.requests.askElsewhere();
      const since = last?.block ?? from;
      const marketTopics = this.marketTopics.filter((topic) => topics.includes(topic));
      const [tail, markets, { end, at }] = await Promise.all([
        this.#logs(since, to, topics, addresses),
        this.#logs(from, to, marketTopics, addresses),
        this.#ends(to, before, last?.block),
      ]);
      // No later log would show that one of a market is missing.
      if (!isDeepStrictEqual(markets, logs.filter(isOf(marketTopics)))) {
        throw new IncompleteLogs("the logs of its markets are others when asked alone");
      }
      const again = logs.filter(({ block }) => block >= since);
      if (!isDeepStrictEqual(tail, again)) {
        throw new IncompleteLogs(
          `the blocks ${since} to ${to} have ${again.length} logs in one answer, and ${tail.length} or others in the next`,
        );
      }
      checkBlocks(logs, new Map([end, ...at].map(({ number, hash }) => [number, hash])));
      const read = await this.#decode(logs, [end, ...at], known);
      if (!isDeepStrictEqual(read.found.filter(isMade), made)) {
        throw new IncompleteLogs("the factories' logs are others when asked again");
      }
      checkTimes(read.facts, [end, ...at]);
      return { from, end, ...read };
    });
  }

  /** Throws where a block has facts although its header's bloom says that it has none. */
  async #checkEmpty(header: Header, topics: readonly string[], known: Knowledge): Promise<void> {
    const { number, hash } = header;
    const address = listOf(this.#contracts.addresses(known));
    const filter = { blockHash: hash, ...address, topics: [topics] };
    const logs = await this.#options.requests.ask("eth_getLogs", [filter], readLogs);
    const { facts, found } = await this.#decode(logs, [header], known);
    if (facts.length + found.length === 0) return;
    throw new IncompleteLogs(`block ${number} has logs that the header's bloom does not have`);
  }

  /** Logs of these blocks, and of these addresses alone. */
  async #logs(
    from: number,
    to: number,
    topics: readonly string[],
    addresses: ReadonlySet<string> | undefined,
  ): Promise<ChainLog[]> {
    // For a node, a list without topics is any topic.
    if (topics.length === 0) return [];
    const { requests } = this.#options;
    const filter = { ...listOf(addresses), topics: [topics] };
    const logs = await requests
      .ask(
        "eth_getLogs",
        [{ fromBlock: numberToHex(from), toBlock: numberToHex(to), ...filter }],
        readLogs,
      )
      .catch((error: unknown) => {
        throw refusedRange(error);
      });
    const foreign = logs.find(
      ({ address, block }) => addresses?.has(address) === false || block < from || block > to,
    );
    if (foreign === undefined) return logs;
    throw new IncompleteLogs(
      `a log of ${foreign.address} in block ${foreign.block} came, which was not asked for`,
    );
  }

  /**
   * The block `to`, and the block `at`. They are of the chain that has the block `before`, and `to` is the parent
   * of the block after it, where there is one: a header alone is not believed.
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

  /** The facts of these logs; `headers` are those of some of their blocks. */
  async #decode(
    logs: readonly ChainLog[],
    headers: readonly Header[],
    known: Knowledge,
  ): Promise<Pick<Block<BlockFact>, "facts" | "found">> {
    const { taker, requests } = this.#options;
    const read = await this.#contracts.decode(logs, known, (contract) => async (call) => {
      const { number } = await this.latest();
      return askForGood({ ...contract, requests }, number, call);
    });
    const timed = await withTimes(read.facts, headers, async (block) =>
      existing(await this.headerAt(block), block),
    );
    const facts = taker === "sender" ? await withSenders(timed, requests) : timed;
    return { facts, found: read.found };
  }
}

const isMade = ({ factory }: FoundContract): boolean => factory !== null;

/** As a filter of logs has them. */
function listOf(addresses: ReadonlySet<string> | undefined): { address?: string | string[] } {
  if (addresses === undefined) return {};
  const [only = "", ...others] = addresses;
  return { address: others.length === 0 ? only : [only, ...others] };
}

/** Whether a log is of one of these kinds. */
function isOf(kinds: readonly string[]): (log: ChainLog) => boolean {
  const known = new Set(kinds);
  return ({ topics: [kind = ""] }) => known.has(kind);
}
