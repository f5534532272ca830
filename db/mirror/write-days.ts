// Writes the files of days in one transaction, and checks what it has written before it commits.
import type { Client } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { findBasis } from "../export/days.ts";
import { blocksOfDay, type DayBlock, type Row } from "../export/exported-rows.ts";
import type { Basis } from "../export/manifest.ts";
import type { PlannedDay } from "../export/planned-days.ts";
import { refusedByDatabase } from "../load/load-error.ts";
import { recordFinal, recordSource, refuseOtherBasis } from "./basis.ts";
import type { FactBlock } from "./block-page.ts";
import { MirrorError } from "./mirror-error.ts";
import { register, type Registrations } from "./origin-registry.ts";
import { refuseOtherDigests, stageFacts, type Digested } from "./write-facts.ts";

export interface DaysToWrite {
  client: Client;
  dir: string;
  /** One after another. */
  days: readonly PlannedDay[];
  maxDayBytes: number;
  /** Undefined where those of the files are registered. */
  registrations: Registrations | undefined;
  basis: Basis;
  onWritten: (day: PlannedDay) => Promise<void>;
}

/**
 * Each whole or not at all; together, because that is faster. Throws a MirrorError that names the day and the first block that
 * differs; the days before it are written then.
 */
export async function writeDays(options: DaysToWrite): Promise<void> {
  const { days } = options;
  try {
    await writeTogether(options);
  } catch (error) {
    if (!(error instanceof MirrorError) || days.length === 1) throw error;
    for (const day of days) await writeTogether({ ...options, days: [day] });
  }
}

async function writeTogether(options: DaysToWrite): Promise<void> {
  const { client, days, onWritten } = options;
  await client.query("begin");
  try {
    await writeInTransaction(options);
    await client.query("commit");
  } catch (error) {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
    const named = days.map(({ day }) => day).join(", ");
    const refused = refusedByDatabase(error, named);
    if (refused === error && !(error instanceof MirrorError)) throw error;
    const { message } = refused as Error;
    // Where they are several days, each is written alone next.
    const placed = message.replace(/\b(offers|trades) (?=line \d)/, `$1-${named}.csv.gz `);
    throw new MirrorError(placed.startsWith(named) ? placed : `${named}: ${placed}`);
  }
  for (const day of days) await onWritten(day);
}

async function writeInTransaction(options: DaysToWrite): Promise<void> {
  const { client, dir, days, maxDayBytes, registrations, basis } = options;
  // Before any other read: it sees what the writer before has committed.
  const { rows } = await client.query<{ head: number | null }>(
    "select head from ingest.take_turn()",
  );
  const head = rows[0]?.head ?? -1;
  if (registrations !== undefined) await register(client, registrations);
  await recordSource(client, basis);
  let known: Digested | undefined;
  let isCompared = false;
  for (const day of days) {
    // After the header.
    const lines = { offers: 2, trades: 2 };
    for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
      known = blocks.findLast(({ number }) => number <= head) ?? known;
      const fresh = blocks.filter(({ number }) => number > head);
      for (const { offers, trades } of blocks.slice(0, blocks.length - fresh.length)) {
        lines.offers += offers.length;
        lines.trades += trades.length;
      }
      if (fresh.length === 0) continue;
      if (!isCompared && known !== undefined) await refuseOtherDigests(client, [known]);
      isCompared = true;
      await stageFacts(client, fresh, lines);
    }
  }
  await client.query("select ingest.write_blocks()");
  const ends = days.map(({ lastBlock, digest }) => ({ number: lastBlock, digest }));
  await refuseOtherDigests(client, ends).catch(async (error: unknown) => {
    await nameFirst(options);
    throw error;
  });
  // Before the first block there was none.
  const own = await findBasis(client);
  if (own !== undefined) refuseOtherBasis(own, basis);
  await recordFinal(client, ends.at(-1)?.number ?? head);
}

/** Throws a MirrorError that names the first block with another digest. */
async function nameFirst({ client, dir, days, maxDayBytes }: DaysToWrite): Promise<void> {
  for (const day of days) {
    for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
      await refuseOtherDigests(client, blocks);
    }
  }
}

/** What is held in memory at once, unless one block alone has more. */
const CHUNK_ROWS = 2000;
const CHUNK_BYTES = 16 * 1024 * 1024;

/** The blocks in chunks. Throws a MirrorError for files that are not of such blocks, or longer than a day may be. */
async function* factsOfDay(
  dir: string,
  day: PlannedDay,
  maxBytes: number,
): AsyncGenerator<FactBlock[]> {
  try {
    let chunk: FactBlock[] = [];
    let [held, beforeChunk] = [0, 0];
    for await (const found of blocksOfDay(dir, day, maxBytes)) {
      const block = blockOf(found);
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
