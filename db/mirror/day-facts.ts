// Reads the blocks of a day, with all their facts, from its CSV files.
import { join } from "node:path";
import { RowsByBlock, rowsOf, type Row } from "../export/exported-rows.ts";
import { errorText } from "../error-text.ts";
import { MirrorError } from "./mirror-error.ts";
import type { FactBlock } from "./block-page.ts";
import { KINDS, type Kind, type PlannedDay } from "./plan.ts";

/** What is held in memory at once, unless one block alone has more. */
const CHUNK_ROWS = 2000;
const CHUNK_BYTES = 16 * 1024 * 1024;

/** No chain makes a block of so many rows, or of so many bytes of them. */
const MAX_BLOCK_ROWS = 200_000;
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;

/** The blocks in chunks. Throws a MirrorError for files that are not of such blocks, or longer than a day may be. */
export async function* factsOfDay(
  dir: string,
  { day, files, firstBlock, lastBlock }: PlannedDay,
  maxBytes: number,
): AsyncGenerator<FactBlock[]> {
  /** Without compression: of all files, and what had been read before this chunk and this block. */
  let [bytes, beforeChunk, beforeBlock] = [0, 0, 0];
  let last = firstBlock - 1;
  const onBytes = (more: number): void => {
    bytes += more;
    if (bytes > maxBytes) {
      throw new Error(
        `its files have more than ${maxBytes} bytes without compression (--max-day-bytes)`,
      );
    }
    if (bytes - beforeBlock > MAX_BLOCK_BYTES) {
      throw new Error(`block ${last} has rows of more than ${MAX_BLOCK_BYTES} bytes`);
    }
  };
  const rows = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      new RowsByBlock(
        counted(rowsOf(join(dir, files[kind].name), kind, onBytes), kind, files[kind].rows),
      ),
    ]),
  ) as Record<Kind, RowsByBlock>;
  try {
    let chunk: FactBlock[] = [];
    let held = 0;
    for (let row = await rows.blocks.take(); row !== undefined; row = await rows.blocks.take()) {
      const number = Number(row["number"]);
      if (!(number > last) || number > lastBlock) {
        throw new Error(
          `block ${row["number"] ?? ""} is not after block ${last} and up to ${lastBlock}`,
        );
      }
      last = number;
      beforeBlock = bytes;
      const block = factBlock(number, row, await factsOf(number, row["time"] ?? "", rows));
      chunk.push(block);
      const { offers, trades, cancelled, pools } = block;
      held += 1 + offers.length + trades.length + cancelled.length + pools.length;
      if (held < CHUNK_ROWS && bytes - beforeChunk < CHUNK_BYTES) continue;
      yield chunk;
      [chunk, held, beforeChunk] = [[], 0, bytes];
    }
    if (last !== lastBlock) throw new Error(`its last block is ${last}, and not ${lastBlock}`);
    for (const kind of KINDS) {
      const left = await rows[kind].next();
      if (left === undefined) continue;
      throw new Error(
        `${files[kind].name} has rows of block ${left["block"] ?? ""}, which is not in ${files.blocks.name}`,
      );
    }
    if (chunk.length > 0) yield chunk;
  } catch (error) {
    throw new MirrorError(`${day}: ${errorText(error)}`, { cause: error });
  } finally {
    for (const kind of KINDS) await rows[kind].end();
  }
}

async function* counted(
  rows: AsyncIterable<Row>,
  kind: string,
  listed: number,
): AsyncGenerator<Row> {
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (count > listed) break;
    yield row;
  }
  if (count === listed) return;
  throw new Error(
    `its file of ${kind} has ${count > listed ? "more" : "less"} rows than the ${listed} that the manifest says`,
  );
}

type Facts = Record<Exclude<Kind, "blocks">, Row[]>;

async function factsOf(
  number: number,
  time: string,
  rows: Record<Kind, RowsByBlock>,
): Promise<Facts> {
  const of = async (kind: keyof Facts): Promise<Row[]> => {
    const found = await rows[kind].of(number, MAX_BLOCK_ROWS);
    const other = found.find((row) => row["time"] !== time);
    if (other === undefined) return found;
    throw new Error(
      `block ${number} is at ${time}, and a row of its ${kind} at ${other["time"] ?? ""}`,
    );
  };
  return {
    ...{ offers: await of("offers"), trades: await of("trades") },
    ...{ ends: await of("ends"), pools: await of("pools") },
  };
}

const text = (row: Row, name: string): string => row[name] ?? "";

const integer = (row: Row, name: string): number => {
  const value = text(row, name);
  return /^-?\d+$/.test(value) ? Number(value) : NaN;
};

const integerOrNull = (row: Row, name: string): number | null =>
  row[name] == null ? null : integer(row, name);

const swapOf = (row: Row) => ({
  ...{ maker: text(row, "maker"), pair: text(row, "pair"), tx: text(row, "tx") },
  ...{ lotGem: text(row, "lot_gem"), lotAmt: text(row, "lot_amt") },
  ...{ bidGem: text(row, "bid_gem"), bidAmt: text(row, "bid_amt") },
  venue: row["venue"] ?? null,
});

function factBlock(number: number, row: Row, { offers, trades, ends, pools }: Facts): FactBlock {
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
