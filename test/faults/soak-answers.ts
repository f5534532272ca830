// Judges what a service answered while it was written to, by all that was written in the end.
import { bruteForce, type Figures, type Recording } from "../brute-force.ts";
import {
  GRAPHQL_AT_HEAD,
  graphqlAtHead,
  restDataAt,
  type Head,
  type Written,
} from "./right-answers.ts";

/** An answer of status 200, and how often it came. */
export interface Seen {
  path: string;
  query: string | undefined;
  text: string;
  times: number;
}

const TRADES = `{
  allDexTrades(first: 30, orderBy: ID_DESC) { totalCount nodes { id lotAmt bidAmt block } }
}`;
const OF_MARKET = `{
  allDexTrades(first: 30, orderBy: ID_DESC, condition: { market: "WETHDAI" }) {
    totalCount nodes { id lotAmt bidAmt block }
  }
}`;
const FIGURES = `{
  allDexPrices(first: 50) { nodes { pair vwap24h vwap12h vwap6h vwap1h last } }
}`;

/** What is asked; REST's also as of past blocks, by `block` at the end, and the last one by `@asOf` before it. */
export const CASES: { path: string; query?: string }[] = [
  { path: "/v1/markets/" },
  { path: "/v1/markets/weth/dai" },
  { path: "/v1/prices/" },
  { path: "/v1/volumes/" },
  { path: "/v2/prices" },
  { path: "/v2/volumes" },
  { path: "/v2/trades/weth/dai?limit=40" },
  { path: "/v2/trades/dai/usdc" },
  { path: "/v2/summary" },
  { path: "/v2/summary/weth/dai" },
  { path: "/v2/book/weth/dai" },
  { path: "/v2/candles/weth/dai" },
  { path: "/v2/candles/weth/dai?interval=1d&limit=5&empty=flat" },
  { path: "/graphql", query: TRADES },
  { path: "/graphql", query: OF_MARKET },
  { path: "/graphql", query: FIGURES },
  { path: "/graphql", query: GRAPHQL_AT_HEAD },
];

const rank = ({ query }: Seen): number => (query === undefined ? 0 : 1);

/** The answers that are right at no head which they may be of, each in a line. */
export function wrongAnswers(answers: Seen[], written: Written): string[] {
  const judge = new Judge(written);
  // REST's name their head, and so tell GraphQL's which heads there were.
  const inOrder = [...answers].sort((one, other) => rank(one) - rank(other));
  return inOrder
    .filter((answer) => !judge.isRight(answer))
    .map(
      ({ path, query = "", text, times }) => `${times} × ${path} ${query}: ${text.slice(0, 500)}`,
    );
}

class Judge {
  readonly #recording: Recording;
  /** Ascending: a time may have several. */
  readonly #blocks: Head[];
  /** By head, the right `data` by path or query. */
  readonly #figures = new Map<string, Record<string, unknown>>();
  /** The same as of past blocks. */
  readonly #past = new Map<string, Record<string, unknown>>();
  /** As GraphQL gives them, of every head that an answer of REST's may be of. */
  readonly #graphqlFigures = new Set<string>();

  constructor({ recording, blocks }: Written) {
    this.#recording = recording;
    this.#blocks = blocks;
  }

  isRight({ path, query, text }: Seen): boolean {
    const answer = JSON.parse(text) as { data: Record<string, unknown>; time: number | string };
    if (query === FIGURES) return this.#isOfSomeHead(answer.data["allDexPrices"]);
    if (query === GRAPHQL_AT_HEAD) return this.#isOfItsHead(answer.data);
    const [, ofBlock] = /^query @asOf\(block: (\d+)\)/.exec(query ?? "") ?? [];
    if (ofBlock !== undefined) return this.#isOfBlock(answer.data, Number(ofBlock));
    if (query !== undefined) return this.#isPage(answer.data["allDexTrades"], query === OF_MARKET);
    const time = typeof answer.time === "number" ? answer.time * 1000 : Date.parse(answer.time);
    const [, asked = "", number] = /^(.*?)(?:[?&]block=(\d+))?$/.exec(path) ?? [];
    // The last block with rows up to the one that was asked for.
    const past = this.#blocks.findLast(({ block }) => block <= Number(number))?.block;
    return this.#headsOf(time).some((head) => {
      if (number !== undefined && head.block !== past) return false;
      const figures = number === undefined ? this.#figuresOf(head) : this.#pastFiguresOf(head);
      return JSON.stringify(figures[asked]) === JSON.stringify(answer.data);
    });
  }

  /**
   * The heads that an answer of this time may be of. A block without rows changes nothing but the
   * time, so the last that has some stands for it.
   */
  #headsOf(time: number): Head[] {
    const before = this.#blocks.findLast((one) => one.time < time);
    const at = this.#blocks.filter((one) => one.time === time);
    return [...at, ...(before === undefined ? [] : [before])].map(({ block }) => ({ block, time }));
  }

  #figuresOf(head: Head): Record<string, unknown> {
    const key = `${head.block} ${head.time}`;
    const figures = this.#figures.get(key) ?? this.#figuresAt(head);
    this.#figures.set(key, figures);
    return figures;
  }

  #pastFiguresOf(head: Head): Record<string, unknown> {
    const key = `${head.block} ${head.time}`;
    const recording = this.#recording;
    const known = this.#past.get(key);
    if (known !== undefined) return known;
    const all = bruteForce(recording, head);
    const figures = {
      ...restDataAt(recording, head, all),
      [GRAPHQL_AT_HEAD]: graphqlAtHead(recording, head, all),
    };
    this.#past.set(key, figures);
    return figures;
  }

  #figuresAt(head: Head): Record<string, unknown> {
    const all = bruteForce(this.#recording, head);
    this.#graphqlFigures.add(JSON.stringify({ nodes: all.map(graphqlPrice) }));
    return {
      ...restDataAt(this.#recording, head, all),
      [GRAPHQL_AT_HEAD]: graphqlAtHead(this.#recording, head, all),
    };
  }

  /** All parts of this answer are of the one head that it names. */
  #isOfItsHead(found: Record<string, unknown>): boolean {
    const { block, time } = found["dexHead"] as { block: number; time: string };
    const head = { block, time: Date.parse(time) };
    return JSON.stringify(found) === JSON.stringify(this.#figuresOf(head)[GRAPHQL_AT_HEAD]);
  }

  /** The same as of a past block, the last one up to this number. */
  #isOfBlock(found: Record<string, unknown>, number: number): boolean {
    const { block, time } = found["dexHead"] as { block: number; time: string };
    if (block > number || this.#blocks.some((one) => one.block > block && one.block <= number)) {
      return false;
    }
    const head = { block, time: Date.parse(time) };
    const known = this.#blocks.find((one) => one.block === block);
    if (known !== undefined && known.time !== head.time) return false;
    return JSON.stringify(found) === JSON.stringify(this.#pastFiguresOf(head)[GRAPHQL_AT_HEAD]);
  }

  /** GraphQL's figures name no head; they must be those of some head. */
  #isOfSomeHead(found: unknown): boolean {
    const text = JSON.stringify(found);
    if (this.#graphqlFigures.has(text)) return true;
    // REST may not have been asked at that head, or have named two of one second.
    const first = Math.min(...[...this.#figures.keys()].map((key) => Number(key.split(" ")[0])));
    for (const head of this.#blocks.filter(({ block }) => block >= first)) {
      this.#figuresOf(head);
    }
    return this.#graphqlFigures.has(text);
  }

  /** A page of the newest trades is what there was up to its first, and counts all of that. */
  #isPage(found: unknown, ofMarket: boolean): boolean {
    const { totalCount, nodes } = found as { totalCount: number; nodes: { id: string }[] };
    const newest = Number(nodes[0]?.id ?? 0);
    const trades = this.#recording.trades.filter(
      (row) => Number(row["id"]) <= newest && (!ofMarket || row["market"] === "WETHDAI"),
    );
    const right = trades
      .slice(-30)
      .reverse()
      .map((row) => ({
        id: row["id"],
        lotAmt: row["lot_amt"],
        bidAmt: row["bid_amt"],
        block: Number(row["block"]),
      }));
    return totalCount === trades.length && JSON.stringify(nodes) === JSON.stringify(right);
  }
}

const graphqlPrice = (row: Figures): object => ({
  pair: row.pair,
  vwap24h: row.vwap24h,
  vwap12h: row.vwap12h,
  vwap6h: row.vwap6h,
  vwap1h: row.vwap1h,
  last: row.last,
});
