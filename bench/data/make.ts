// Creates a database with a given number of trades, and keeps it.
import { BeforeBaseline } from "../../db/committed.ts";
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import { loadRows, type OfferRow, type TradeRow } from "../../db/load/write-rows.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { log, whole } from "../harness.ts";
import { Exchange, FULL, type Block, type Labels } from "./constant-exchange.ts";
import { register } from "./fill.ts";
import { makeDatabase, withAdmin, type BenchServer } from "./server.ts";

/** Open offers live so many blocks, so that the books have thousands of them. */
const OFFER_BLOCKS = 1000;

/** Creates the database if it is missing. Resolves to its URL. */
export async function makeData(server: BenchServer, trades: number): Promise<string> {
  const name = `bench_${trades}`;
  const url = urlForDatabase(server.url, name);
  const isMade = await withAdmin(server, async (admin) => {
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [name]);
    return rowCount === 1;
  });
  if (isMade && (await isMigrated(url))) return url;
  log(`Loading ${whole(trades)} trades`);
  // An interrupted run leaves this name, and the next one begins again.
  const unfinished = `${name}_unfinished`;
  const began = performance.now();
  const database = await makeDatabase(server, unfinished);
  const writer = await connect(database, { role: "dex_writer" });
  try {
    await loadHistory(writer, trades, OFFER_BLOCKS);
  } finally {
    await writer.end();
  }
  const owner = await connect(database, { role: "dex_owner" });
  await owner.query("vacuum (analyze)").finally(() => owner.end());
  await withAdmin(server, async (admin) => {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.query(`alter database ${unfinished} rename to ${name}`);
  });
  log(`  ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return url;
}

/** Applies later migrations. Resolves to false where the data are of an older baseline. */
async function isMigrated(url: string): Promise<boolean> {
  try {
    await applyMigrations(url);
    return true;
  } catch (error) {
    if (!(error instanceof BeforeBaseline)) throw error;
    return false;
  }
}

/** Loads full blocks of an exchange, whose offers live so many blocks. Resolves to the exchange after them. */
export async function loadHistory(
  writer: Client,
  trades: number,
  lifetime?: number,
): Promise<Exchange> {
  await register(writer);
  const exchange = new Exchange(1, lifetime);
  const blocks = trades / FULL.trades;
  await loadRows(writer, {
    offers: offersOf(blocksOf(new Exchange(1, lifetime), blocks), exchange.lifetime),
    trades: tradesOf(blocksOf(exchange, blocks)),
  });
  return exchange;
}

function* blocksOf(exchange: Exchange, count: number): Generator<Block> {
  for (let made = 0; made < count; made += 1) yield exchange.next(FULL);
}

/** A row of a block, without what the database derives. */
function inBlock<Row extends Labels>({ number, time }: Block, row: Row) {
  const { market: _market, sells: _sells, price: _price, ...given } = row;
  return { ...given, block: number, time: time.toISOString() };
}

function* tradesOf(blocks: Iterable<Block>): Generator<TradeRow> {
  for (const block of blocks) {
    for (const trade of block.trades) yield inBlock(block, trade);
  }
}

/** An offer waits here for its cancellation, which comes after its lifetime, if ever. */
function* offersOf(blocks: Iterable<Block>, lifetime: number): Generator<OfferRow> {
  const waiting = new Map<number, OfferRow>();
  for (const block of blocks) {
    for (const id of block.cancelled) {
      const offer = waiting.get(id);
      if (offer !== undefined) offer.killed = block.number;
    }
    for (const offer of block.offers) waiting.set(offer.id, inBlock(block, offer));
    for (const [id, offer] of waiting) {
      if (offer.block > block.number - 2 * lifetime) break;
      waiting.delete(id);
      yield offer;
    }
  }
  yield* waiting.values();
}
