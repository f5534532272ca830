// Copies offers and trades to where the database writes blocks from.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../connect.ts";
import { pairHash } from "./checksum.ts";
import { LoadError } from "./load-error.ts";
import type { OfferRow, Rows, TradeRow } from "./rows.ts";

/** How a message says where a row stands. */
type Place = (line: number) => string;

/** Where the rows of either file stand. */
export type Places = Record<"offers" | "trades", Place>;

/** Which of the columns that a trade may leave out the trades have: all of them, or none. */
export type TradeColumns = Record<(typeof OPTIONAL)[number], boolean>;

/** Rows that were copied. */
export interface Staged {
  rows: number;
  place: Place;
  has: TradeColumns;
}

const OPTIONAL = ["id", "idx"] as const;

const MATCH = ["maker", "lot_gem", "lot_amt", "bid_gem", "bid_amt", "block", "time", "tx"] as const;

/** What is recorded of a thing besides what it is known by: the same wherever it is told of. */
export const OFFER_FACTS = [...MATCH, "killed"] as const;
export const TRADE_FACTS = ["offer_id", "taker", ...MATCH] as const;

const TABLES = {
  offers: { table: "ingest.staged_offer", columns: ["id", "filled", ...OFFER_FACTS] },
  trades: { table: "ingest.staged_trade", columns: ["id", "idx", ...TRADE_FACTS] },
} as const;

/** What a row says that leaves a column out. */
const DEFAULTS: Record<string, string> = { killed: "0", filled: "false" };

/** Takes away what somebody copied and never had written. */
export async function emptyStaging(client: Client): Promise<void> {
  for (const table of ["block", "offer", "cancellation", "trade"]) {
    await client.query(`delete from ingest.staged_${table}`);
  }
}

/** Copies rows, no faster than PostgreSQL takes them. Checked values hold nothing that COPY reads otherwise. */
export async function stage(
  client: Client,
  file: keyof typeof TABLES,
  rows: Rows<OfferRow | TradeRow>,
  onRows: (rows: number) => void,
): Promise<Staged> {
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
      `${place(line)}, column ${column}: it is empty, and ${given[column]} of ${count} rows have ` +
        "one: either every row has one, or none",
    );
  }
  return { rows: count, place, has: { id: given.id > 0, idx: given.idx > 0 } };
}

const CHUNK = 65_536;

/** Where a row stands: its file and line, or without a line its number. */
export const placeOf = (file: string, line: number | undefined, number: number): string =>
  line === undefined ? `${file}, row ${number}` : `${file}.csv line ${line}`;
