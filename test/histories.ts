// Plays random histories of an exchange, and compares the views with brute-force.ts. The histories have
// everything that a writer can do: blocks exactly on the edges of windows or hours apart, with equal
// times, with and without hashes; offers taken, taken beyond their lot, cancelled and closed; blocks
// removed and replaced; many blocks at once, beside rows that another session staged and committed; tokens and
// pairs registered after their trades, renamed and flipped; and invalid writes.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Client } from "../db/connect.ts";
import { verify } from "../db/verify/verify-database.ts";
import {
  bookOf,
  bruteForce,
  candlesOf,
  type Figures,
  type Recording,
  type Row,
} from "./brute-force.ts";
import { pairHash } from "../db/load/checksum.ts";
import { compareDigests } from "./digests.ts";
import { aHash, anAddress, registerPair, registerTokens } from "./factories.ts";

const TOKENS = ["AAA", "BBB", "CCC", "DDD"] as const;
const PAIRS = [
  ["AAA", "BBB"],
  ["BBB", "CCC"],
  ["CCC", "DDD"],
] as const;

const SECOND = 1000;

interface TradeStep {
  base: string;
  quote: string;
  offer: number;
}

interface OfferStep extends TradeStep {
  filled: boolean;
}

export interface BlockStep {
  /** Seconds after the previous block. */
  after: number;
  /** Added to the number of the previous block. */
  higher: number;
  hash: boolean;
  trades: TradeStep[];
  offers: OfferStep[];
  killed: number[];
}

type Step =
  | { do: "block"; block: BlockStep }
  | { do: "blocks"; blocks: BlockStep[] }
  | { do: "take back"; blocks: number; skip: number }
  | { do: "register"; pair: number; flipped: boolean; active: boolean }
  | { do: "rename"; token: number; symbol: string | null; decimals: number }
  | { do: "refused"; block: BlockStep; how: keyof typeof REFUSALS }
  | { do: "rebuild" }
  | { do: "others"; blocks: BlockStep[] }
  | { do: "ask"; asked: Asked };

/** Arguments of the first pair's book and candles; times in seconds before the head. */
export interface Asked {
  depth: number;
  minutes: keyof typeof INTERVALS;
  from: number | null;
  to: number | null;
  limit: number;
  empty: "omit" | "flat";
}

const INTERVALS = { 1: "1m", 5: "5m", 15: "15m", 30: "30m", 60: "1h", 240: "4h", 1440: "1d" };

export type History = Step[];

/** Seconds that place a block exactly at, or just off, the edges of windows, minutes and hours. */
const seconds = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 1, 12, 59, 60) },
  fc.constantFrom(0.000001, 0.5, 61, 1800, 3599, 3600, 3601),
  fc.constantFrom(6, 12, 24, 11, 18, 23, 25).map((hours) => hours * 3600),
  fc
    .constantFrom(6, 12, 24)
    .chain((hours) => fc.constantFrom(-60, -1, 1).map((off) => hours * 3600 + off)),
);

/** The pair and the side of each offer, from 1 on: its trades have the same. Most are of pair 0. */
const SWAPS = [0, 0, 0, 1, 2, 0, 0, 0, 1, 2].map((pair, id) => ({ pair, sells: id % 2 === 0 }));

const amount = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 9 }).map(String) },
  fc.constantFrom("0.000000000000000001", "0.333333333333333333", "100000000000000000000.5"),
);

/** Pair 0 is registered from the start, and has most trades. */
const pairIndex = fc.constantFrom(0, 0, 0, 1, 2);

const trade = fc.record<TradeStep>({
  base: amount,
  quote: amount,
  // Offers from 7 on are taken before they are made, and mostly are never made.
  offer: fc.constantFrom(1, 1, 2, 2, 3, 4, 7, 8),
});

const offer = fc
  .tuple(
    trade,
    fc.integer({ min: 1, max: 9 }),
    fc.constantFrom("4", "12", "40"),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([made, id, base, one, other]) => ({ ...made, offer: id, base, filled: one && other }));

export const block: fc.Arbitrary<BlockStep> = fc.record({
  after: seconds,
  higher: fc.constantFrom(1, 1, 1, 2, 1200),
  hash: fc.boolean(),
  trades: fc.oneof(fc.constant<TradeStep[]>([]), fc.array(trade, { maxLength: 6 })),
  offers: fc.oneof(fc.constant<OfferStep[]>([]), fc.array(offer, { maxLength: 3 })),
  killed: fc.oneof(
    { weight: 3, arbitrary: fc.constant<number[]>([]) },
    fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 2 }),
  ),
});

export const asked: fc.Arbitrary<Asked> = fc.record({
  depth: fc.constantFrom(1, 2, 1000),
  minutes: fc.constantFrom(1, 1, 5, 15, 30, 60, 60, 240, 1440),
  from: fc.option(seconds, { freq: 2 }),
  to: fc.option(seconds, { freq: 2 }),
  limit: fc.constantFrom(1, 2, 3, 50, 1000),
  empty: fc.constantFrom("omit" as const, "flat" as const),
});

/** A step of the writer. */
export type WriteStep = Exclude<Step, { do: "ask" | "others" }>;

const chainSteps = [
  { weight: 8, arbitrary: fc.record({ do: fc.constant("block" as const), block }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("blocks" as const),
      blocks: fc.array(block, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("take back" as const),
      blocks: fc.constantFrom(1, 1, 2, 3, 100),
      skip: fc.constantFrom(0, 0, 1),
    }),
  },
];

const writeSteps = [
  ...chainSteps,
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("register" as const),
      pair: pairIndex,
      flipped: fc.boolean(),
      active: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("rename" as const),
      token: fc.nat({ max: 3 }),
      symbol: fc.constantFrom("AAA", "BBB", "CCC", "aAb", "Ddd", null),
      decimals: fc.constantFrom(18, 6),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("refused" as const),
      block,
      how: fc.constantFrom("older", "earlier", "again", "elsewhere", "digits", "twice"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rebuild" as const) }) },
];

/** Blocks and reorganisations. */
export const chainStep: fc.Arbitrary<WriteStep> = fc.oneof(...chainSteps);

/** These, and what changes labels. */
export const writeStep: fc.Arbitrary<WriteStep> = fc.oneof(...writeSteps);

const step: fc.Arbitrary<Step> = fc.oneof(
  ...writeSteps,
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("others" as const),
      blocks: fc.array(block, { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("ask" as const), asked }) },
);

/**
 * A history of up to 14 steps. Figures are compared after each step, book and candles in each step "ask"
 * and twice at the end.
 */
export const history: fc.Arbitrary<History> = fc
  .tuple(fc.array(step, { minLength: 2, maxLength: 14 }), asked, asked)
  .map(([steps, ...questions]) => [
    ...steps,
    ...questions.map((one) => ({ do: "ask" as const, asked: one })),
  ]);

export interface Block {
  number: number;
  time: number;
  /** Microseconds after `time`, which is in milliseconds. */
  micros: number;
  hash: string | null;
  parent: string | null;
  offers: Row[];
  trades: Row[];
  killed: number[];
}

const tokensOf = (pair: Row): string => [pair["base_gem"], pair["quote_gem"]].sort().join(" ");

/** The state that the database should have. */
export class Exchange {
  readonly recording: Recording = { tokens: [], pairs: [], offers: [], trades: [] };
  blocks: Block[] = [];
  #made = 0;
  readonly #cancelled = new Map<number, number>();
  /** `active` of each pair as it was registered first, and when each block was written. */
  readonly #firstActive = new Map<string, string>();
  readonly #activeAt = new WeakMap<Block, Map<string, string>>();

  get head(): Block | undefined {
    return this.blocks.at(-1);
  }

  get moment(): { block: number; time: number } | undefined {
    return this.head && { block: this.head.number, time: this.head.time };
  }

  #rowOf({ offer, base, quote }: TradeStep): Row {
    const { pair, sells } = SWAPS[offer]!;
    const [baseGem, quoteGem] = PAIRS[pair]!.map(anAddress);
    this.#made += 1;
    return {
      pair: sells ? pairHash(baseGem!, quoteGem!) : pairHash(quoteGem!, baseGem!),
      maker: anAddress("maker"),
      lot_gem: sells ? baseGem! : quoteGem!,
      lot_amt: sells ? base : quote,
      bid_gem: sells ? quoteGem! : baseGem!,
      bid_amt: sells ? quote : base,
      tx: aHash(String(this.#made)),
    };
  }

  /** Makes the block after `before`, without the offers and cancellations that would be invalid. */
  next(step: BlockStep, before: Block | undefined, earlier: Block[] = []): Block {
    const number = (before?.number ?? 100) + step.higher;
    const time =
      (before?.time ?? Date.parse("2026-03-01T11:59:00Z")) + Math.round(step.after * SECOND);
    const made = new Set(
      [...this.blocks, ...earlier].flatMap((one) => one.offers.map((row) => row["id"])),
    );
    const dead = new Set([...this.blocks, ...earlier].flatMap((one) => one.killed));
    const offers: Row[] = [];
    for (const one of step.offers) {
      const id = String(one.offer);
      if (made.has(id) || dead.has(one.offer)) continue;
      made.add(id);
      offers.push({ ...this.#rowOf(one), id, filled: String(one.filled) });
    }
    this.#made += 1;
    // A source that gives a hash goes on to do so.
    const isHashed = step.hash || (before?.hash ?? null) !== null;
    return {
      number,
      time,
      micros: 0,
      hash: isHashed ? aHash(`block ${number} ${this.#made}`) : null,
      parent: step.hash ? (before?.hash ?? null) : null,
      offers,
      trades: step.trades
        .filter((one) => !dead.has(one.offer))
        .map((one, idx) => ({
          ...this.#rowOf(one),
          offer_id: String(one.offer),
          taker: anAddress("taker"),
          idx: String(idx),
        })),
      killed: step.killed.filter((id) => !dead.has(id)),
    };
  }

  /** As of a block: with `active` as it was when the block was written. */
  asOf(block: Block): AsOf {
    const { number, time } = block;
    const active = this.#activeAt.get(block);
    const pairs = this.recording.pairs.map((pair) => ({
      ...pair,
      active: active?.get(tokensOf(pair)) ?? this.#firstActive.get(tokensOf(pair))!,
    }));
    return { recording: { ...this.recording, pairs }, moment: { block: number, time } };
  }

  /** Records `active` of new pairs. */
  recordPairs(): void {
    for (const pair of this.recording.pairs) {
      const tokens = tokensOf(pair);
      if (!this.#firstActive.has(tokens)) this.#firstActive.set(tokens, pair["active"]!);
    }
  }

  /** Records the rows of these blocks as in the loader's files. */
  record(all: Block[]): void {
    // The database removes empty blocks more than 1,000 behind the head.
    const oldest = (all.at(-1)?.number ?? 0) - 1000;
    const blocks = all.filter(
      ({ number, offers, trades, killed }) =>
        number >= oldest || offers.length + trades.length + killed.length > 0,
    );
    this.blocks = blocks;
    const active = new Map(this.recording.pairs.map((pair) => [tokensOf(pair), pair["active"]!]));
    for (const one of blocks) {
      if (!this.#activeAt.has(one)) this.#activeAt.set(one, active);
    }
    this.#cancelled.clear();
    for (const one of blocks) for (const id of one.killed) this.#cancelled.set(id, one.number);
    const placed = (one: Block, row: Row): Row => ({
      ...row,
      block: String(one.number),
      time: new Date(one.time).toISOString(),
    });
    this.recording.trades = blocks.flatMap((one) => one.trades.map((row) => placed(one, row)));
    this.recording.offers = blocks.flatMap((one) =>
      one.offers.map((row) => ({
        ...placed(one, row),
        killed: String(this.#cancelled.get(Number(row["id"])) ?? 0),
      })),
    );
  }
}

const REFUSALS = {
  older: (made: Block, head: Block): Block => ({ ...made, number: head.number }),
  earlier: (made: Block, head: Block): Block => ({ ...made, time: head.time - 1 }),
  again: (made: Block, head: Block): Block => ({
    ...made,
    trades: [...made.trades, head.trades[0] ?? {}],
  }),
  elsewhere: (made: Block): Block => ({ ...made, parent: "0x12" }),
  digits: (made: Block): Block => ({
    ...made,
    offers: made.offers.map((row) => ({ ...row, lot_amt: "0.1234567890123456789" })),
    trades: [{ ...made.trades[0], lot_amt: "0.1234567890123456789" }],
  }),
  twice: (made: Block): Block => ({ ...made, killed: [11, 11] }),
};

/** Registers the first tokens and the first pair, in a transaction. */
export async function beginExchange(client: Client): Promise<Exchange> {
  const exchange = new Exchange();
  for (const symbol of TOKENS.slice(0, 3)) {
    exchange.recording.tokens.push({ address: anAddress(symbol), symbol, decimals: "18" });
    await registerTokens(client, { address: anAddress(symbol), symbol });
  }
  await register(client, exchange, { pair: 0, flipped: false, active: true });
  return exchange;
}

/**
 * Plays the history in a transaction that is rolled back; `stranger` is the session of another writer. Throws if any digit of a view's figure differs
 * from brute-force.ts, or if a derived table is inconsistent. Returns the number of comparisons.
 */
export async function playAndCompare(
  client: Client,
  stranger: Client,
  steps: History,
): Promise<number> {
  await client.query("begin");
  try {
    const exchange = await beginExchange(client);
    let compared = 0;
    for (const next of steps) {
      if (next.do === "ask") await compareAnswers(client, exchange, next.asked);
      else if (next.do === "others") await stageAsOther(client, stranger, exchange, next.blocks);
      else await play(client, exchange, next);
      await compare(client, exchange);
      compared += 1;
    }
    const [difference] = await verify(client);
    if (difference !== undefined) {
      throw new Error(`${difference.row} is ${difference.kept}, and should be ${difference.right}`);
    }
    await compareDigests(client);
    return compared;
  } finally {
    await client.query("rollback");
    await stranger.query(`
      delete from ingest.staged_block;
      delete from ingest.staged_offer;
      delete from ingest.staged_cancellation;
      delete from ingest.staged_trade;
    `);
  }
}

/** Another session stages blocks and commits; the writer, which staged nothing, may not write them. */
async function stageAsOther(
  client: Client,
  stranger: Client,
  exchange: Exchange,
  steps: BlockStep[],
): Promise<void> {
  const made: Block[] = [];
  for (const one of steps) made.push(exchange.next(one, made.at(-1) ?? exchange.head, made));
  await stageBlocks(stranger, made);
  if (await isRefused(client, () => client.query("select ingest.write_blocks()"))) return;
  throw new Error("write_blocks accepted the rows of another session");
}

/** Runs a write, and returns whether the database refused it. */
async function isRefused(client: Client, write: () => Promise<unknown>): Promise<boolean> {
  await client.query("savepoint written");
  try {
    await write();
    await client.query("release savepoint written");
    return false;
  } catch (error) {
    if (!/^(22023|23505)$/.test((error as { code?: string }).code ?? "")) throw error;
    await client.query("rollback to savepoint written; release savepoint written");
    return true;
  }
}

const symbolOf = ({ tokens }: Recording, address: string): string | undefined =>
  tokens.find((token) => token["address"] === address)?.["symbol"];

/** Names the pairs by the present symbols; returns false if a name is missing or duplicate. */
function namePairs(recording: Recording): boolean {
  const named = recording.pairs.map((pair) => ({
    ...pair,
    base: (symbolOf(recording, pair["base_gem"]!) ?? "").toUpperCase(),
    quote: (symbolOf(recording, pair["quote_gem"]!) ?? "").toUpperCase(),
  }));
  const names = named.map(({ base, quote }) => base + quote);
  if (named.some(({ base, quote }) => base === "" || quote === "")) return false;
  if (new Set(names).size < names.length) return false;
  recording.pairs = named;
  return true;
}

async function register(
  client: Client,
  exchange: Exchange,
  { pair, flipped, active }: { pair: number; flipped: boolean; active: boolean },
): Promise<void> {
  const { recording } = exchange;
  const [one, other] = PAIRS[pair]!.map(anAddress) as [string, string];
  const [base, quote] = flipped ? [other, one] : [one, other];
  const before = recording.pairs;
  const isOther = (row: Row): boolean =>
    ![one, other].every((gem) => [row["base_gem"], row["quote_gem"]].includes(gem));
  recording.pairs = [
    ...before.filter(isOther),
    { base_gem: base, quote_gem: quote, active: String(active) },
  ];
  const isRight = namePairs(recording);
  const refused = await isRefused(client, () => registerPair(client, base, quote, active));
  if (refused === isRight) throw new Error(`register_pair was ${refused ? "" : "not "}refused`);
  if (refused) recording.pairs = before;
  exchange.recordPairs();
}

export async function writeBlock(client: Client, block: Block): Promise<void> {
  await client.query("select ingest.write_block($1, $2, $3, $4, $5, $6, $7)", [
    block.number,
    new Date(block.time),
    block.hash,
    block.parent,
    JSON.stringify(block.offers.map((row) => ({ ...row, filled: row["filled"] === "true" }))),
    JSON.stringify(block.trades),
    block.killed,
  ]);
}

export async function stageBlocks(client: Client, blocks: Block[]): Promise<void> {
  const staged = async (table: string, rows: object[]): Promise<void> => {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].join(", ");
    if (rows.length === 0) return;
    await client.query(
      `insert into ingest.staged_${table} (${columns})
      select ${columns}
      from json_populate_recordset(null::ingest.staged_${table}, $1)`,
      [JSON.stringify(rows)],
    );
  };
  let line = 0;
  const placed = ({ number, time }: Block, row: object): object => ({
    ...row,
    line: (line += 1),
    block: number,
    time: new Date(time).toISOString(),
  });
  await staged(
    "block",
    blocks.map(({ number, time, hash, parent }) => ({
      number,
      time: new Date(time),
      hash,
      parent,
    })),
  );
  await staged(
    "trade",
    blocks.flatMap((one) => one.trades.map((row) => placed(one, row))),
  );
  await staged(
    "offer",
    blocks.flatMap((one) => one.offers.map((row) => ({ ...placed(one, row), killed: 0 }))),
  );
  await staged(
    "cancellation",
    blocks.flatMap((one) => one.killed.map((offer_id) => ({ block: one.number, offer_id }))),
  );
}

/** Does a step of the writer, in a transaction. */
export async function play(client: Client, exchange: Exchange, next: WriteStep): Promise<void> {
  const { recording, blocks } = exchange;
  switch (next.do) {
    case "block": {
      const made = exchange.next(next.block, exchange.head);
      await writeBlock(client, made);
      exchange.record([...blocks, made]);
      return;
    }
    case "blocks": {
      const made: Block[] = [];
      for (const one of next.blocks)
        made.push(exchange.next(one, made.at(-1) ?? exchange.head, made));
      await stageBlocks(client, made);
      await client.query("select ingest.write_blocks()");
      exchange.record([...blocks, ...made]);
      return;
    }
    case "take back": {
      const stay = blocks.slice(0, Math.max(0, blocks.length - next.blocks));
      const taken = blocks.slice(stay.length);
      const to =
        (stay.at(-1)?.number ?? -1) +
        (taken.length > 0
          ? Math.min(next.skip, taken[0]!.number - (stay.at(-1)?.number ?? -1) - 1)
          : 0);
      if (to < 0) return;
      await client.query("select ingest.take_back($1)", [to]);
      exchange.record(stay);
      return;
    }
    case "register":
      return register(client, exchange, next);
    case "rename": {
      const address = anAddress(TOKENS[next.token]!);
      const { tokens, pairs } = recording;
      const symbol = next.symbol === null ? {} : { symbol: next.symbol };
      const renamed = { address, decimals: String(next.decimals), ...symbol };
      recording.tokens = [...tokens.filter((row) => row["address"] !== address), renamed];
      const isRight = namePairs(recording);
      const refused = await isRefused(client, () =>
        registerTokens(client, { address, symbol: next.symbol, decimals: next.decimals }),
      );
      if (refused === isRight)
        throw new Error(`register_token was ${refused ? "" : "not "}refused`);
      if (refused) Object.assign(recording, { tokens, pairs });
      return;
    }
    case "refused": {
      const { head } = exchange;
      if (head === undefined) return;
      const wrong = REFUSALS[next.how](exchange.next(next.block, head), head);
      if (!(await isRefused(client, () => writeBlock(client, wrong)))) {
        throw new Error(`an invalid block was written (${next.how}): ${JSON.stringify(wrong)}`);
      }
      return;
    }
    case "rebuild":
      await client.query("select ingest.rebuild()");
  }
}

/** A recording, and the moment of its head. */
export type AsOf = Pick<Exchange, "recording" | "moment">;

/** Throws where a figure of a market differs from brute-force.ts. */
export async function compare(client: Client, exchange: AsOf): Promise<void> {
  const { rows } = await client.query<Figures>({
    // Prepared, because planning these views takes longer than reading them.
    name: "compare_figures",
    text: `
      select
        market.*,
        price.vwap24h,
        price.vwap12h,
        price.vwap6h,
        price.vwap1h,
        summary.last_time,
        summary.open,
        summary.change,
        summary.percent,
        summary.vwap,
        summary.quote_vol,
        summary.trades,
        summary.spread
      from dex_market as market
      join dex_price as price using (pair)
      join dex_volume as volume
        on volume.pair = market.pair
        and volume.vol is not distinct from market.vol
        and price.last is not distinct from market.last
      join dex_summary as summary
        on summary.pair = market.pair
        and (
          (summary.last, summary.vol, summary.low, summary.high, summary.bid, summary.ask)
          is not distinct from
          (market.last, market.vol, market.low, market.high, market.bid, market.ask)
        )
      order by market.pair collate "C"
    `,
  });
  const expected = bruteForce(exchange.recording, exchange.moment ?? { block: -1, time: 0 });
  for (const [index, figures] of expected.entries()) {
    for (const [name, value] of Object.entries(figures)) {
      const found = rows[index]?.[name as keyof Figures];
      if (isDeepStrictEqual(found, value)) continue;
      throw new Error(
        `${figures.pair}: ${name} is ${String(found)}, and should be ${String(value)}`,
      );
    }
  }
  if (rows.length !== expected.length) throw new Error(`there are ${rows.length} markets`);
}

export async function compareAnswers(
  client: Client,
  exchange: AsOf,
  { depth, minutes, limit, empty, ...asked }: Asked,
): Promise<void> {
  const [pair] = exchange.recording.pairs;
  const at = exchange.moment;
  if (pair === undefined || at === undefined) return;
  const { base, quote } = pair;
  const timeOf = (before: number | null): number | null =>
    before === null ? null : at.time - Math.round(before * SECOND);
  const [from, to] = [timeOf(asked.from), timeOf(asked.to)];
  const dateOf = (time: number | null): Date | null => (time === null ? null : new Date(time));

  const book = await client.query({
    name: "compare_book",
    text: "select * from dex_book($1, $2, $3)",
    values: [base, quote, depth],
  });
  expectSame("book", book.rows, bookOf(pair, exchange.recording, at, depth));

  const candles = await client.query({
    name: "compare_candles",
    text: "select * from dex_candles($1, $2, $3, $4, $5, $6, $7)",
    values: [base, quote, INTERVALS[minutes], dateOf(from), dateOf(to), limit, empty],
  });
  const question = { minutes, from, to, limit, empty };
  expectSame(
    `candles of ${JSON.stringify(question)}`,
    candles.rows,
    candlesOf(pair, exchange.recording, at, question),
  );
}

function expectSame(name: string, found: unknown[], right: unknown[]): void {
  if (isDeepStrictEqual(found, right)) return;
  throw new Error(
    `the ${name} is\n${JSON.stringify(found)}\nand should be\n${JSON.stringify(right)}`,
  );
}
