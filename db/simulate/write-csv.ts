// Writes a simulated history as the loader's four files, holding only the open offers in memory.
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import type { OfferRow, PairRow, TokenRow, TradeRow } from "../load/checked-rows.ts";
import { MARKETS, TOKENS } from "./simulated-tokens.ts";
import { Exchange } from "./simulated-exchange.ts";
import { offerRow } from "./offer.ts";
import { firstStretch, schedule, type HistoryOptions } from "./schedule.ts";

const TOKEN_COLUMNS = ["address", "symbol", "decimals", "name"] as const;
const PAIR_COLUMNS = ["base", "quote", "base_gem", "quote_gem", "active"] as const;
const MATCH_COLUMNS = ["lot_gem", "lot_amt", "bid_gem", "bid_amt"] as const;
const OFFER_COLUMNS = [
  "id",
  "pair",
  "maker",
  ...MATCH_COLUMNS,
  "killed",
  "block",
  "time",
  "tx",
] as const;
const TRADE_COLUMNS = [
  "offer_id",
  "pair",
  "maker",
  "taker",
  ...MATCH_COLUMNS,
  "block",
  "time",
  "tx",
  "idx",
] as const;

/**
 * Writes tokens.csv, pairs.csv, offers.csv and trades.csv into a folder, which is made if need be;
 * files of these names are overwritten. The same options with the same `until` give the same bytes.
 * Trades are oldest first; an offer stands where it ended, those still open at the end of the file.
 */
export async function writeHistoryCsv(
  folder: string,
  options: HistoryOptions & {
    until: Date;
    /** Receives how many trades of how many are written. */
    onProgress?: (done: number, total: number) => void;
    /** Throws what this is aborted with; the files are then not whole. */
    signal?: AbortSignal;
  },
): Promise<{ trades: number; offers: number }> {
  await mkdir(folder, { recursive: true });
  await writeAll(join(folder, "tokens.csv"), TOKEN_COLUMNS, TOKENS);
  await writeAll(join(folder, "pairs.csv"), PAIR_COLUMNS, pairRows());

  const offers = new CsvFile<OfferRow>(join(folder, "offers.csv"), OFFER_COLUMNS);
  const trades = new CsvFile<TradeRow>(join(folder, "trades.csv"), TRADE_COLUMNS);
  const exchange = new Exchange(options.seed);
  for (const plan of schedule(firstStretch(options))) {
    options.signal?.throwIfAborted();
    const events = exchange.make(plan);
    for (const trade of events.trades) trades.add(trade);
    for (const offer of events.filled) offers.add(offerRow(offer));
    for (const offer of events.killed) offers.add(offerRow(offer, plan.number));
    await Promise.all([offers.drained(), trades.drained()]);
    options.onProgress?.(trades.rows, options.trades);
  }
  for (const offer of exchange.open) offers.add(offerRow(offer));
  await Promise.all([offers.close(), trades.close()]);
  return { trades: trades.rows, offers: offers.rows };
}

/** The registry as rows to load: tokens.csv and pairs.csv. */
export function pairRows(): PairRow[] {
  return MARKETS.map(({ base, quote, course }) => ({
    base: base.symbol.toUpperCase(),
    quote: quote.symbol.toUpperCase(),
    base_gem: base.address,
    quote_gem: quote.address,
    active: course !== "delisted",
  }));
}

async function writeAll<Row extends TokenRow | PairRow>(
  path: string,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): Promise<void> {
  const file = new CsvFile<Row>(path, columns);
  for (const row of rows) file.add(row);
  await file.close();
}

/** A file that is written in large pieces. Nothing simulated needs quotes. */
class CsvFile<Row> {
  rows = 0;
  readonly #columns: readonly (keyof Row & string)[];
  readonly #stream: WriteStream;
  #text: string;
  #failure: Error | undefined;

  constructor(path: string, columns: readonly (keyof Row & string)[]) {
    this.#columns = columns;
    this.#stream = createWriteStream(path);
    this.#stream.on("error", (error) => {
      this.#failure = error;
    });
    this.#text = `${columns.join(",")}\n`;
  }

  add(row: Row): void {
    this.#text += `${this.#columns.map((column) => String(row[column])).join(",")}\n`;
    this.rows += 1;
  }

  /** Resolves when more may be added; rejects when the file cannot be written. */
  async drained(): Promise<void> {
    if (this.#text.length < PIECE) return;
    const text = this.#text;
    this.#text = "";
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#stream.write(text)) await once(this.#stream, "drain");
  }

  async close(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#stream.end(this.#text);
    await finished(this.#stream);
  }
}

const PIECE = 65_536;
