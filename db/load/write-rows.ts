// Writes checked rows into the database, all of them or none.
import type { Client } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { refuseIds, refuseTimes } from "./contradictions.ts";
import { keepFreshRows } from "./fresh-rows.ts";
import { CommitUnanswered, LoadError, refusedByDatabase } from "./load-error.ts";
import { gather, registerPairs, registerTokens, type Registered } from "./register-tokens.ts";
import type { LoadSource, TableName } from "./checked-rows.ts";
import { stage, type Places } from "./staging.ts";

export type { LoadSource, OfferRow, PairRow, Rows, TokenRow, TradeRow } from "./checked-rows.ts";

export interface LoadOptions {
  /** Called every few hundred rows while reading, and every second while writing blocks. */
  onProgress?: (progress: LoadProgress) => void;
}

export type LoadProgress =
  { step: "reading"; table: TableName; rows: number } | { step: "writing"; rows: number };

export interface TableSummary {
  /** Rows in the source. */
  rows: number;
  added: number;
  changed: number;
  /** Rows that the database had already, and duplicates. */
  unchanged: number;
}

export interface Head {
  block: number;
  time: Date;
}

export interface LoadSummary extends Record<TableName, TableSummary | undefined> {
  /** The last block written; undefined if the load wrote none. */
  head: Head | undefined;
}

/**
 * Loads rows in one transaction: registers tokens and pairs, and writes the offers and trades that the
 * database lacks, block by block. On an error nothing is changed, and the connection stays usable.
 * Throws a LoadError that names the row if the data contradicts itself or the database, any error
 * of the source, and CommitUnanswered where it is unknown whether all or nothing was loaded. The caller has checked each row. Only tokens and pairs are held in memory.
 */
export async function loadRows(
  client: Client,
  source: LoadSource,
  options: LoadOptions = {},
): Promise<LoadSummary> {
  await client.query("begin");
  let isCommitting = false;
  try {
    const summary = await loadInTransaction(client, source, options);
    isCommitting = true;
    await client.query("commit");
    return summary;
  } catch (error) {
    // The rollback fails if the connection is lost; the first error gives the cause.
    const isLost = await client.query("rollback").then(
      () => false,
      () => true,
    );
    if (isCommitting && isLost) throw new CommitUnanswered(errorText(error), { cause: error });
    throw refusedByDatabase(error);
  }
}

/** `loadRows` within the caller's transaction. */
export async function loadInTransaction(
  client: Client,
  source: LoadSource,
  { onProgress = () => undefined }: LoadOptions = {},
): Promise<LoadSummary> {
  const report = (table: TableName) => (rows: number) =>
    onProgress({ step: "reading", table, rows });
  const tokens = await gather("tokens", source.tokens ?? []);
  const pairs = await gather("pairs", source.pairs ?? []);
  const offers = await stage(client, "offers", source.offers ?? [], report("offers"));
  const trades = await stage(client, "trades", source.trades ?? [], report("trades"));
  const places = { offers: offers.place, trades: trades.place };

  // Locks out other writers, so that the rows compared below are those that the blocks follow.
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

const PROGRESS_INTERVAL_MS = 1000;

async function writeBlocks(client: Client, places: Places, onWriting: () => void): Promise<void> {
  onWriting();
  const progressTimer = setInterval(onWriting, PROGRESS_INTERVAL_MS);
  await client.query("savepoint staged");
  try {
    await client.query("select ingest.write_blocks()");
  } catch (error) {
    const refused = refusedByDatabase(error);
    if (!(refused instanceof LoadError)) throw error;
    // The database's error names a block or an id; the author of the files needs the line.
    await client.query("rollback to savepoint staged");
    await refuseTimes(client, places);
    await refuseIds(client, places);
    throw refused;
  } finally {
    clearInterval(progressTimer);
  }
}
