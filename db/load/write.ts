// Writes checked rows into the database: all of a load, or nothing of it.
import type { Client } from "../connect.ts";
import { refuseTwoTimes } from "./block-times.ts";
import { refusedByDatabase } from "./load-error.ts";
import { mergeOffers } from "./merge-offers.ts";
import { mergePairs } from "./merge-pairs.ts";
import { mergeTokens } from "./merge-tokens.ts";
import { mergeTrades } from "./merge-trades.ts";
import type { Merged } from "./merged.ts";
import { lastStagedBlock, moveHead, type Block } from "./move-head.ts";
import { postponeIndexes } from "./postponed-indexes.ts";
import type { LoadSource, TableName } from "./rows.ts";
import { makeStagingTables, stage, staging, type Staged } from "./staging.ts";

export type { LoadSource, OfferRow, PairRow, Rows, TokenRow, TradeRow } from "./rows.ts";

export interface LoadOptions {
  /** Whether the head moves to the last block loaded. It never moves back. */
  moveHead: boolean;
  /** Hears, every few hundred rows, how far the load is. */
  onProgress?: (progress: LoadProgress) => void;
}

export interface LoadProgress {
  /** Reading the source, writing what is new in it, or building the indexes of what was written. */
  step: "reading" | "writing" | "indexing";
  table: TableName;
  rows: number;
}

export interface TableSummary extends Merged {
  /** How many rows the source gave. */
  rows: number;
  /** How many of them the database had already, or had twice. */
  unchanged: number;
}

export interface LoadSummary {
  tokens: TableSummary | undefined;
  pairs: TableSummary | undefined;
  offers: TableSummary | undefined;
  trades: TableSummary | undefined;
  /** The last block among the trades and offers of the load. */
  lastBlock: Block | undefined;
  headMoved: boolean;
}

/**
 * Loads rows in one transaction, and can be called again and again on one connection. Tokens and
 * pairs are upserted, as are the ends of offers; trades that are there already are left. Throws a
 * LoadError that names the row for data that contradicts itself or the database, and whatever a
 * source throws; the database is then as it was. The rows themselves are taken as checked. Memory
 * is bounded, however many rows there are, but for pairs.
 */
export async function loadRows(
  client: Client,
  source: LoadSource,
  options: LoadOptions,
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

async function loadInTransaction(
  client: Client,
  source: LoadSource,
  options: LoadOptions,
): Promise<LoadSummary> {
  const hear = (step: LoadProgress["step"], table: TableName) => (rows: number) =>
    options.onProgress?.({ step, table, rows });

  await makeStagingTables(client);
  const tokens =
    source.tokens &&
    (await stage(client, staging.tokens, source.tokens, hear("reading", "tokens")));
  const pairs =
    source.pairs && (await stage(client, staging.pairs, source.pairs, hear("reading", "pairs")));
  const offers =
    source.offers &&
    (await stage(client, staging.offers, source.offers, hear("reading", "offers")));
  const trades =
    source.trades &&
    (await stage(client, staging.trades, source.trades, hear("reading", "trades")));

  await takeTurn(client);
  await refuseTwoTimes(client);
  // Merging takes out of the staging tables what is there already.
  const lastBlock = await lastStagedBlock(client);

  // Before anything is written: whoever waits for these tables must not hold what a write waits for.
  const written = { dex_trade: trades?.rows ?? 0, dex_offer: offers?.rows ?? 0 };
  const indexes = await postponeIndexes(client, written.dex_trade + written.dex_offer);
  const index = (table: keyof typeof written, name: TableName): Promise<void> =>
    indexes.build(table, (part) => hear("indexing", name)(written[table] * part));

  const mergedTokens = tokens && (await mergeTokens(client, tokens));
  const mergedPairs = pairs && (await mergePairs(client, pairs));
  // Trades first: an offer is then written once, with what its trades have taken, rather than again
  // when they have taken all of it.
  const mergedTrades = trades && (await mergeTrades(client, trades, hear("writing", "trades")));
  await index("dex_trade", "trades");
  const mergedOffers = offers && (await mergeOffers(client, offers, hear("writing", "offers")));
  await index("dex_offer", "offers");

  const summary: LoadSummary = {
    tokens: tokens && summarise(tokens, mergedTokens),
    pairs: pairs && summarise(pairs, mergedPairs),
    offers: offers && summarise(offers, mergedOffers),
    trades: trades && summarise(trades, mergedTrades),
    lastBlock,
    headMoved: false,
  };
  if (options.moveHead && lastBlock !== undefined) {
    summary.headMoved = await moveHead(client, lastBlock);
  }
  return summary;
}

// Two loads at once would each give ids after the newest trade that it sees.
async function takeTurn(client: Client): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtext('dex_load'))");
}

const summarise = (
  { rows }: Staged,
  { added, changed }: Merged = { added: 0, changed: 0 },
): TableSummary => ({
  rows,
  added,
  changed,
  unchanged: rows - added - changed,
});
