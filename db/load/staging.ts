// Brings rows into temporary tables by COPY, from where they are merged set-wise.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../connect.ts";
import { pairHash } from "./checksum.ts";
import type { OfferRow, PairRow, Rows, TableName, TokenRow, TradeRow } from "./rows.ts";

type Value = string | number | boolean | undefined;

/** A temporary table, and how a row is laid into it. Each has also `line`, an integer. */
export interface StagingTable<Row> {
  name: TableName;
  table: string;
  columns: Record<string, { type: string; of: (row: Row) => Value }>;
}

const tokens: StagingTable<TokenRow> = {
  name: "tokens",
  table: "load_token",
  columns: {
    address: { type: "text", of: (row) => row.address },
    symbol: { type: "text", of: (row) => row.symbol },
    decimals: { type: "integer", of: (row) => row.decimals },
    name: { type: "text", of: (row) => row.name },
  },
};

const pairs: StagingTable<PairRow> = {
  name: "pairs",
  table: "load_pair",
  columns: {
    base: { type: "text", of: (row) => row.base },
    quote: { type: "text", of: (row) => row.quote },
    base_gem: { type: "text", of: (row) => row.base_gem },
    quote_gem: { type: "text", of: (row) => row.quote_gem },
    active: { type: "boolean", of: (row) => row.active },
  },
};

// As wide as any amount that is accepted, and printed as the tables print theirs.
const AMOUNT = "numeric(96, 18)";

const offers: StagingTable<OfferRow> = {
  name: "offers",
  table: "load_offer",
  columns: {
    id: { type: "integer", of: (row) => row.id },
    pair: { type: "text", of: (row) => row.pair ?? pairHash(row.lot_gem, row.bid_gem) },
    maker: { type: "text", of: (row) => row.maker },
    lot_gem: { type: "text", of: (row) => row.lot_gem },
    lot_amt: { type: AMOUNT, of: (row) => row.lot_amt },
    bid_gem: { type: "text", of: (row) => row.bid_gem },
    bid_amt: { type: AMOUNT, of: (row) => row.bid_amt },
    killed: { type: "integer", of: (row) => row.killed ?? 0 },
    filled: { type: "boolean", of: (row) => row.filled ?? false },
    block: { type: "integer", of: (row) => row.block },
    time: { type: "timestamptz", of: (row) => row.time },
    tx: { type: "text", of: (row) => row.tx },
  },
};

const trades: StagingTable<TradeRow> = {
  name: "trades",
  table: "load_trade",
  columns: {
    id: { type: "bigint", of: (row) => row.id },
    offer_id: { type: "integer", of: (row) => row.offer_id },
    pair: { type: "text", of: (row) => row.pair ?? pairHash(row.lot_gem, row.bid_gem) },
    maker: { type: "text", of: (row) => row.maker },
    taker: { type: "text", of: (row) => row.taker },
    lot_gem: { type: "text", of: (row) => row.lot_gem },
    lot_amt: { type: AMOUNT, of: (row) => row.lot_amt },
    bid_gem: { type: "text", of: (row) => row.bid_gem },
    bid_amt: { type: AMOUNT, of: (row) => row.bid_amt },
    block: { type: "integer", of: (row) => row.block },
    time: { type: "timestamptz", of: (row) => row.time },
    tx: { type: "text", of: (row) => row.tx },
    idx: { type: "integer", of: (row) => row.idx },
  },
};

/** Where each kind of rows is staged. */
export const staging = { tokens, pairs, offers, trades };

/** Rows that were staged: how many, and how to say where one stood. */
export interface Staged {
  rows: number;
  place: (line: number) => string;
}

/**
 * Makes the staging tables where this session lacks them. They empty themselves at each commit, so
 * that a session can load again and again without a trace in the catalogue.
 */
export async function makeStagingTables(client: Client): Promise<void> {
  for (const { table, columns } of Object.values(staging)) {
    const definitions = Object.entries(columns).map(([name, { type }]) => `${name} ${type}`);
    // Asked first, since `if not exists` would send a notice each time.
    const { rows } = await client.query<{ there: boolean }>(
      "select to_regclass('pg_temp.' || $1) is not null as there",
      [table],
    );
    if (rows[0]?.there) continue;
    await client.query(
      `create temporary table ${table} (
        line integer not null,
        ${definitions.join(",\n        ")}
      )
      on commit delete rows`,
    );
  }
}

/** Copies rows into their staging table, no faster than PostgreSQL takes them. */
export async function stage<Row extends { line?: number }>(
  client: Client,
  { name, table, columns }: StagingTable<Row>,
  rows: Rows<Row>,
  onRows: (rows: number) => void,
): Promise<Staged> {
  const names = ["line", ...Object.keys(columns)];
  const values = Object.values(columns).map(({ of }) => of);
  let count = 0;
  let numbered = false;

  async function* text(): AsyncGenerator<string> {
    let chunk = "";
    for await (const row of rows) {
      count += 1;
      numbered ||= row.line !== undefined;
      chunk += String(row.line ?? count);
      for (const of of values) chunk += `\t${field(of(row))}`;
      chunk += "\n";
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = "";
      onRows(count);
    }
    if (chunk !== "") yield chunk;
    onRows(count);
  }

  const sql = `copy pg_temp.${table} (${names.join(", ")}) from stdin`;
  await pipeline(Readable.from(text(), { objectMode: false }), client.query(copyFrom(sql)));
  if (count >= WORTH_ANALYZING) await analyze(client, table);
  const place = (line: number): string =>
    numbered ? `${name}.csv line ${line}` : `${name}, row ${line}`;
  return { rows: count, place };
}

// Nobody else looks after the statistics of a temporary table. A tenth of the rows that PostgreSQL would
// look at by itself says as much of columns that are mostly unique, in a tenth of the time.
async function analyze(client: Client, table: string): Promise<void> {
  await client.query("set local default_statistics_target = 10");
  await client.query(`analyze pg_temp.${table}`);
  await client.query("set local default_statistics_target to default");
}

const CHUNK = 65_536;
const WORTH_ANALYZING = 1_000;

const ESCAPES: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function field(value: Value): string {
  if (value === undefined) return "\\N";
  if (typeof value !== "string") return String(value);
  return value.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character);
}
