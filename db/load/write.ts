// Writes checked rows into the database: all of a load, or nothing of it.
import type { Client } from "../connect.ts";
import { refuseIds, refuseTimes } from "./contradictions.ts";
import { keepFreshRows } from "./fresh-rows.ts";
import { LoadError, refusedByDatabase } from "./load-error.ts";
import { gather, registerPairs, registerTokens, type Registered } from "./registry.ts";
import type { LoadSource, TableName } from "./rows.ts";
import { emptyStaging, stage, type Places } from "./staging.ts";

export type { LoadSource, OfferRow, PairRow, Rows, TokenRow, TradeRow } from "./rows.ts";

export interface LoadOptions {
  /** Hears, every few hundred rows, how far the source is read, and every second that blocks are written. */
  onProgress?: (progress: LoadProgress) => void;
}

export type LoadProgress =
  { step: "reading"; table: TableName; rows: number } | { step: "writing"; rows: number };

export interface TableSummary {
  /** How many rows the source gave. */
  rows: number;
  added: number;
  changed: number;
  /** How many of them the database had already, or had twice. */
  unchanged: number;
}

export interface Head {
  block: number;
  time: Date;
}

export interface LoadSummary {
  tokens: TableSummary | undefined;
  pairs: TableSummary | undefined;
  offers: TableSummary | undefined;
  trades: TableSummary | undefined;
  /** The last block written, where the load wrote any. */
  head: Head | undefined;
}

/**
 * Loads rows in one transaction, and can be called again and again on one connection. Tokens and
 * pairs are registered; of offers and trades those are written, block by block, that are not there.
 * Throws a LoadError that names the row for data that contradicts itself or the database, and
 * whatever a source throws; the database is then as it was. The rows themselves are taken as checked.
 * Memory is bounded, however many rows there are, but for tokens and pairs.
 */
export async function loadRows(
  client: Client,
  source: LoadSource,
  options: LoadOptions = {},
): Promise<LoadSummary> {
  await client.query("begin");
  try {
    const summary = await loadInTransaction(client, source, options);
    await client.query("commit");
    return summary;
  } catch (error) {
    // Where the connection is lost, so is the transaction; the first error is the one that tells.
    await client.query("rollback").catch(() => undefined);
    throw refusedByDatabase(error);
  }
}

/** The same within a transaction of the caller's. */
export async function loadInTransaction(
  client: Client,
  source: LoadSource,
  { onProgress = () => undefined }: LoadOptions = {},
): Promise<LoadSummary> {
  const hear = (table: TableName) => (rows: number) => onProgress({ step: "reading", table, rows });
  await emptyStaging(client);
  const tokens = await gather("tokens", source.tokens ?? []);
  const pairs = await gather("pairs", source.pairs ?? []);
  const offers = await stage(client, "offers", source.offers ?? [], hear("offers"));
  const trades = await stage(client, "trades", source.trades ?? [], hear("trades"));
  const places = { offers: offers.place, trades: trades.place };

  // From here on nobody else writes: what is compared with is what the blocks are written to.
  const { rows } = await client.query<{ head: number | null }>(
    "select head from ingest.take_turn()",
  );
  const fresh = await keepFreshRows(client, places, trades.has, rows[0]?.head ?? null);
  const added = {
    offers: offers.rows - fresh.known.offers,
    trades: trades.rows - fresh.known.trades,
  };
  const summary = {
    tokens: source.tokens && summarise(tokens.length, await registerTokens(client, tokens)),
    pairs: source.pairs && summarise(pairs.length, await registerPairs(client, pairs)),
    offers:
      source.offers && summarise(offers.rows, { added: added.offers, changed: fresh.cancelled }),
    trades: source.trades && summarise(trades.rows, { added: added.trades, changed: 0 }),
  };
  const toWrite = added.offers + fresh.cancelled + added.trades;
  if (toWrite === 0) return { ...summary, head: undefined };
  await writeBlocks(client, places, () => onProgress({ step: "writing", rows: toWrite }));
  const { rows: heads } = await client.query<Head>("select block, time from dex_head");
  return { ...summary, head: heads[0] };
}

const summarise = (rows: number, { added, changed }: Registered): TableSummary => ({
  rows,
  added,
  changed,
  unchanged: rows - added - changed,
});

const HEARD_EVERY_MS = 1000;

async function writeBlocks(client: Client, places: Places, onWriting: () => void): Promise<void> {
  onWriting();
  const beat = setInterval(onWriting, HEARD_EVERY_MS);
  await client.query("savepoint staged");
  try {
    await client.query("select ingest.write_blocks()");
  } catch (error) {
    const refused = refusedByDatabase(error);
    if (!(refused instanceof LoadError)) throw error;
    // The database names blocks and ids. Whoever made the files looks for lines.
    await client.query("rollback to savepoint staged");
    await refuseTimes(client, places);
    await refuseIds(client, places);
    throw refused;
  } finally {
    clearInterval(beat);
  }
}
