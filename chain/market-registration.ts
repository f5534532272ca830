// Registers markets: those of a file at the start, and those that the exchange lists once their blocks are final,
// since a registration cannot be taken back.
import type { ChainHead } from "./chain-head.ts";
import type { Difference } from "./comparing.ts";
import { marketsOf, type BlockFact, type MarketFact } from "./exchange-facts.ts";
import { Halt } from "./halt.ts";
import { ListedMarkets } from "./token-list.ts";
import { readRanges } from "./ranges.ts";
import type { Reading } from "./chain-reading.ts";
import { pairsSince, type Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";
import { Unavailable } from "./requests.ts";
import type { Block, Range } from "./source.ts";

/** A market is registered at the latest when its block is so many blocks old. A start reads so many again. */
const MARKET_DEPTH = 8192;

export class MarketRegistration {
  readonly #reading: Reading;
  readonly #recording: Recording;
  readonly #head: ChainHead;
  /** Of blocks that are not final. */
  #pending: MarketFact[] = [];
  /** Of blocks that were not read in a range. */
  #readSingly: MarketFact[] = [];

  constructor(reading: Reading, recording: Recording, head: ChainHead) {
    this.#reading = reading;
    this.#recording = recording;
    this.#head = head;
  }

  /** The markets that were asked for, and those that were not final when the last indexer ended. */
  async begin(last: Recorded | undefined): Promise<void> {
    const { markets = [], fromBlock, registry, source, tokenList, requests } = this.#reading;
    if (tokenList !== undefined) {
      registry.useList(new ListedMarkets(tokenList, requests.chainId ?? 0));
      await registry.learnUnlisted(this.#head.state);
      await this.#recording.correctMarkets(markets);
    }
    const given = markets.map(({ baseGem, quoteGem, active }) =>
      marketFact(baseGem, quoteGem, active),
    );
    await registry.learn(given, this.#head.state);
    for (const market of markets) registry.checkSymbols(market);
    await this.#recording.registerMarkets(given);
    if (last === undefined) return;
    const from = Math.max(fromBlock, last.number - MARKET_DEPTH);
    if (tokenList !== undefined) {
      this.#pending.push(...registry.marketsOf(await pairsSince(this.#recording.client, from)));
    }
    if (source.marketTopics.length === 0) return this.registerFinal(last);
    const to = Math.min(last.number, this.#head.latest.number);
    try {
      for await (const range of readRanges(source, { from, to, topics: source.marketTopics })) {
        this.#add(range);
      }
    } catch (error) {
      // The last of these blocks are not final: nodes that disagree on them are waited for.
      if (error instanceof Halt && to > this.#head.final) throw new Unavailable(error.message);
      throw error;
    }
    await this.registerFinal(last);
  }

  #add({ facts }: Pick<Block<BlockFact>, "facts">): void {
    this.#pending.push(...this.#reading.registry.marketsOf(facts));
    this.#readSingly.push(...marketsOf(facts));
  }

  /** Takes those of blocks that are written, up to `last`, and registers what is final. */
  async written(blocks: readonly Block[], last: Recorded): Promise<void> {
    for (const block of blocks) this.#add(block);
    await this.registerFinal(last);
  }

  async registerFinal(last: Recorded): Promise<void> {
    const settled = Math.max(this.#head.final, last.number - MARKET_DEPTH);
    const due = this.#pending.filter(({ block }) => block <= settled);
    if (due.length === 0) return;
    await this.#reading.registry.learn(due, this.#head.state);
    await this.#recording.registerMarkets(due);
    this.#pending = this.#pending.filter(({ block }) => block > settled);
  }

  /** Blocks above this one were taken back. */
  forgetAbove(number: number): void {
    this.#pending = this.#pending.filter(({ block }) => block <= number);
    this.#readSingly = this.#readSingly.filter(({ block }) => block <= number);
  }

  /** What the blocks of a range were read to list otherwise, one by one. */
  *differences({ from, end, facts }: Range<BlockFact>): Generator<Difference> {
    const before = this.#readSingly.filter(({ block }) => block >= from && block <= end.number);
    const now = marketsOf(facts);
    const [namesBefore, namesNow] = [new Set(before.map(nameOf)), new Set(now.map(nameOf))];
    for (const market of [...before, ...now]) {
      const name = nameOf(market);
      if (namesBefore.has(name) && namesNow.has(name)) continue;
      const not = namesBefore.has(name) ? "" : "not ";
      yield { block: market.block, text: `${name}: it was ${not}read before` };
    }
  }

  /** All blocks up to this one were read in ranges. */
  ranged(to: number): void {
    this.#readSingly = this.#readSingly.filter(({ block }) => block > to);
  }
}

const nameOf = ({ block, idx, base, quote, active }: MarketFact): string =>
  `log ${idx} of block ${block} ${active ? "lists" : "delists"} ${base}, ${quote}`;

const marketFact = (base: string, quote: string, active: boolean): MarketFact => ({
  ...{ kind: "market", base, quote, active, isGiven: true },
  // It is of no block.
  ...{ block: 0, hash: "", tx: "", idx: 0 },
});
