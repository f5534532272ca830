// Reads the files of days, in chunks of blocks.
import { errorText } from "../error-text.ts";
import { blocksOfDay, type DayBlock, type Row } from "../export/exported-rows.ts";
import type { PlannedDay } from "../export/planned-days.ts";
import type { FactBlock } from "./block-page.ts";
import { MirrorError } from "./mirror-error.ts";
import type { Digested, Lines } from "./write-facts.ts";

interface DaysToRead {
  dir: string;
  days: readonly PlannedDay[];
  maxDayBytes: number;
  /** Its blocks and those before it are left out. */
  head: number;
}

interface Chunk {
  /** The last block in it that is left out. */
  known: Digested | undefined;
  blocks: FactBlock[];
  /** Of the first rows of the blocks. Who takes them counts on. */
  lines: Lines;
}

/** Throws a MirrorError for files that are not of such blocks, or longer than a day may be. */
export async function* chunksOf({
  dir,
  days,
  maxDayBytes,
  head,
}: DaysToRead): AsyncGenerator<Chunk> {
  for (const day of days) {
    // After the header.
    const lines = { offers: 2, trades: 2 };
    for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
      const known = blocks.filter(({ number }) => number <= head);
      for (const { offers, trades } of known) {
        lines.offers += offers.length;
        lines.trades += trades.length;
      }
      yield { known: known.at(-1), blocks: blocks.slice(known.length), lines };
    }
  }
}

/** What is held in memory at once, unless one block alone has more. */
const CHUNK_ROWS = 10_000;
const CHUNK_BYTES = 16 * 1024 * 1024;

/** The blocks in chunks. Throws a MirrorError for files that are not of such blocks, or longer than a day may be. */
export async function* factsOfDay(
  dir: string,
  day: PlannedDay,
  maxBytes: number,
): AsyncGenerator<FactBlock[]> {
  try {
    let blocks: FactBlock[] = [];
    let [held, beforeChunk] = [0, 0];
    for await (const found of blocksOfDay(dir, day, maxBytes)) {
      const block = blockOf(found);
      blocks.push(block);
      const { offers, trades, cancelled, pools } = block;
      held += 1 + offers.length + trades.length + cancelled.length + pools.length;
      if (held < CHUNK_ROWS && found.bytes - beforeChunk < CHUNK_BYTES) continue;
      yield blocks;
      [blocks, held, beforeChunk] = [[], 0, found.bytes];
    }
    if (blocks.length > 0) yield blocks;
  } catch (error) {
    throw new MirrorError(`${day.day}: ${errorText(error)}`, { cause: error });
  }
}

const text = (row: Row, name: string): string => row[name] ?? "";

const integer = (row: Row, name: string): number => {
  const value = text(row, name);
  if (/^(0|-?[1-9]\d{0,9})$/.test(value)) return Number(value);
  throw new Error(
    `block ${text(row, "block")} has ${name} ${JSON.stringify(value)}, which is not an integer in digits`,
  );
};

const integerOrNull = (row: Row, name: string): number | null =>
  row[name] == null ? null : integer(row, name);

const swapOf = (row: Row) => ({
  ...{ maker: text(row, "maker"), pair: text(row, "pair"), tx: text(row, "tx") },
  ...{ lotGem: text(row, "lot_gem"), lotAmt: text(row, "lot_amt") },
  ...{ bidGem: text(row, "bid_gem"), bidAmt: text(row, "bid_amt") },
  venue: row["venue"] ?? null,
});

function blockOf({ number, row, facts }: DayBlock): FactBlock {
  const { offers, trades, ends, pools } = facts;
  return {
    ...{ number, hash: row["hash"] ?? null, parent: null },
    ...{ time: text(row, "time"), digest: text(row, "digest") },
    offers: offers.map((offer) => ({
      ...swapOf(offer),
      ...{ offer: text(offer, "offer"), closed: text(offer, "closed") === "true" },
    })),
    trades: trades.map((trade) => ({
      ...swapOf(trade),
      ...{ offer: trade["offer"] ?? null, idx: integer(trade, "idx"), taker: text(trade, "taker") },
    })),
    // An offer that is filled is so by other facts.
    cancelled: ends.filter(({ event }) => event !== "filled").map((end) => text(end, "offer")),
    pools: pools.map((pool) => ({
      ...{ venue: text(pool, "venue"), gem0: text(pool, "gem0"), gem1: text(pool, "gem1") },
      ...{ reserve0: pool["reserve0"] ?? null, reserve1: pool["reserve1"] ?? null },
      ...{ fee: integer(pool, "fee"), tickSpacing: integerOrNull(pool, "tick_spacing") },
      ...{ sqrtPrice: pool["sqrt_price"] ?? null, tick: integerOrNull(pool, "tick") },
      liquidity: pool["liquidity"] ?? null,
      // Of a pool with liquidity in ranges it is empty where the block changed none.
      nets: pool["sqrt_price"] == null ? null : text(pool, "nets"),
    })),
  };
}
