// Reads the blocks of a day, with all their facts, from its CSV files.
import { blocksOfDay, type DayBlock } from "../export/day-blocks.ts";
import type { Row } from "../export/exported-rows.ts";
import type { PlannedDay } from "../export/planned-days.ts";
import { errorText } from "../error-text.ts";
import { MirrorError } from "./mirror-error.ts";
import type { FactBlock } from "./block-page.ts";

/** What is held in memory at once, unless one block alone has more. */
const CHUNK_ROWS = 2000;
const CHUNK_BYTES = 16 * 1024 * 1024;

/** The blocks in chunks. Throws a MirrorError for files that are not of such blocks, or longer than a day may be. */
export async function* factsOfDay(
  dir: string,
  day: PlannedDay,
  maxBytes: number,
): AsyncGenerator<FactBlock[]> {
  try {
    let chunk: FactBlock[] = [];
    let [held, beforeChunk] = [0, 0];
    for await (const found of blocksOfDay(dir, day, maxBytes)) {
      const block = factBlock(found);
      chunk.push(block);
      const { offers, trades, cancelled, pools } = block;
      held += 1 + offers.length + trades.length + cancelled.length + pools.length;
      if (held < CHUNK_ROWS && found.bytes - beforeChunk < CHUNK_BYTES) continue;
      yield chunk;
      [chunk, held, beforeChunk] = [[], 0, found.bytes];
    }
    if (chunk.length > 0) yield chunk;
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

function factBlock({ number, row, facts }: DayBlock): FactBlock {
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
