// Copies offers and trades into the staging tables, from which the database writes blocks.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../connect.ts";
import { pairHash } from "./checksum.ts";
import { LoadError } from "./load-error.ts";
import type { OfferRow, Rows, TradeRow } from "./checked-rows.ts";

/** The place of a row in error messages: the file and line. */
type Place = (line: number) => string;

export type Places = Record<"offers" | "trades", Place>;

/** Whether the trades have each optional column. */
export type TradeColumns = Record<(typeof OPTIONAL)[number], boolean>;

const OPTIONAL = ["id", "idx"] as const;

const MATCH = [
  "maker",
  "lot_gem",
  "lot_amt",
  "bid_gem",
  "bid_amt",
  "block",
  "time",
  "tx",
  "venue",
] as const;

/** Columns outside the key. They must be equal in every row of the same offer or trade. */
export const OFFER_FACTS = [...MATCH, "killed"] as const;
export const TRADE_FACTS = ["offer_id", "taker", ...MATCH] as const;

const TABLES = {
  offers: { table: "ingest.staged_offer", columns: ["id", "filled", ...OFFER_FACTS] },
  trades: { table: "ingest.staged_trade", columns: ["id", "idx", ...TRADE_FACTS] },
} as const;

/** Values of missing columns. */
const DEFAULTS: Record<string, string> = { killed: "0", filled: "false" };

/**
 * Copies rows into a staging table, with backpressure. Checked values contain no characters that COPY
 * treats specially, so they are not escaped.
 */
export async function stage(
  client: Client,
  file: keyof typeof TABLES,
  rows: Rows<OfferRow | TradeRow>,
  onRows: (rows: number) => void,
): Promise<{ rows: number; place: Place; has: TradeColumns }> {
  const { table, columns } = TABLES[file];
  const given = { id: 0, idx: 0 };
  const lacking: { id?: number; idx?: number } = {};
  let count = 0;
  let hasLines = false;
  const place = (line: number): string => placeOf(file, hasLines ? line : undefined, line);

  async function* text(): AsyncGenerator<string> {
    let chunk = "";
    for await (const row of rows) {
      count += 1;
      hasLines ||= row.line !== undefined;
      const line = row.line ?? count;
      const values = row as unknown as Record<string, string | number | boolean | undefined>;
      for (const column of OPTIONAL) {
        if (values[column] === undefined) lacking[column] ??= line;
        else given[column] += 1;
      }
      chunk += `${line}\t${row.pair ?? pairHash(row.lot_gem, row.bid_gem)}`;
      for (const column of columns) chunk += `\t${values[column] ?? DEFAULTS[column] ?? "\\N"}`;
      chunk += "\n";
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = "";
      onRows(count);
    }
    if (chunk === "") return;
    yield chunk;
    onRows(count);
  }

  const sql = `copy ${table} (line, pair, ${columns.join(", ")}) from stdin`;
  await pipeline(Readable.from(text(), { objectMode: false }), client.query(copyFrom(sql)));
  for (const column of OPTIONAL) {
    const line = lacking[column];
    if (given[column] === 0 || line === undefined) continue;
    throw new LoadError(
      `${place(line)}, column ${column}: the value is empty, but ${given[column]} of ${count} rows ` +
        "have one; give it in every row or in none",
    );
  }
  return { rows: count, place, has: { id: given.id > 0, idx: given.idx > 0 } };
}

const CHUNK = 65_536;

/** A row's place in error messages: file and line, or the row's number if it has no line. */
export const placeOf = (file: string, line: number | undefined, number: number): string =>
  line === undefined ? `${file}, row ${number}` : `${file}.csv line ${line}`;
