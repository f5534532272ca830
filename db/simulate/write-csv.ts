// Writes a simulated history as the loader's four files, holding only the open offers in memory.
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { OfferRow, PairRow, TradeRow } from "../load/checked-rows.ts";
import { MARKETS, TOKENS } from "./simulated-tokens.ts";
import { Exchange } from "./simulated-exchange.ts";
import { offerRow } from "./offer.ts";
import { firstStretch, schedule, type HistoryOptions } from "./schedule.ts";

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
  await writeAll(join(folder, "tokens.csv"), TOKENS);
  await writeAll(join(folder, "pairs.csv"), pairRows());

  await using offersFile = await open(join(folder, "offers.csv"), "w");
  await using tradesFile = await open(join(folder, "trades.csv"), "w");
  const offers = new CsvFile<OfferRow>(offersFile);
  const trades = new CsvFile<TradeRow>(tradesFile);
  const exchange = new Exchange(options.seed);
  for (const plan of schedule(firstStretch(options))) {
    options.signal?.throwIfAborted();
    const events = exchange.make(plan);
    for (const trade of events.trades) trades.add(trade);
    for (const offer of events.filled) offers.add(offerRow(offer));
    for (const offer of events.killed) offers.add(offerRow(offer, plan.number));
    await Promise.all([offers.write(PIECE), trades.write(PIECE)]);
    options.onProgress?.(trades.rows, options.trades);
  }
  for (const offer of exchange.open) offers.add(offerRow(offer));
  await Promise.all([offers.write(), trades.write()]);
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

async function writeAll(path: string, rows: readonly object[]): Promise<void> {
  await using handle = await open(path, "w");
  const file = new CsvFile(handle);
  for (const row of rows) file.add(row);
  await file.write();
}

const PIECE = 65_536;

/** A file with a column for each field of its first row. Nothing simulated needs quotes. */
class CsvFile<Row extends object> {
  rows = 0;
  readonly #handle: FileHandle;
  #text = "";

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  add(row: Row): void {
    if (this.rows === 0) this.#text = `${Object.keys(row).join(",")}\n`;
    this.#text += `${Object.values(row).join(",")}\n`;
    this.rows += 1;
  }

  /** Writes what was added, if it is at least so long. */
  async write(least = 0): Promise<void> {
    if (this.#text.length < least) return;
    const text = this.#text;
    this.#text = "";
    await this.#handle.appendFile(text);
  }
}
