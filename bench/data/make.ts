// Creates a database with a given number of trades, in stages of minutes, and keeps it.
import { connect, type Client } from "../../db/connect.ts";
import {
  INSERT_BLOCKS,
  insertOffers,
  insertTrades,
  OFFERS_A_GROUP,
  TRADES_A_GROUP,
} from "./history.ts";
import { dropIndexes, droppedIndexes } from "./indexes.ts";
import { makeAccounts, makeRegistry } from "./registry.ts";
import { openDatabase, type BenchServer } from "./server.ts";
import { prepareStages, runStage, type Stage } from "./stages.ts";
import { verify } from "./verify.ts";

/** Number of offers per stage, with ten trades each. */
const OFFERS_A_STAGE = 100_000;

/** Whether a database can have this number of trades: whole groups, and at least 100,000. */
export const isPossibleSize = (trades: number): boolean =>
  Number.isInteger(trades) && trades >= 100_000 && trades % TRADES_A_GROUP === 0;

/** Creates the database, or the missing part of it. Resolves to its URL. */
export async function makeData(
  server: BenchServer,
  trades: number,
  log: (line: string) => void,
): Promise<string> {
  log(`The database of ${trades.toLocaleString("en")} trades`);
  const url = await openDatabase(server, `bench_${trades}`);
  const client = await connect(url, { role: "dex_owner", applicationName: "bench data" });
  try {
    await client.query("set synchronous_commit = off");
    await client.query("set work_mem = '256MB'");
    await prepareStages(client);
    for (const stage of beforeIndexes(trades)) await runStage(client, stage, log);
    for (const { name, sql } of await droppedIndexes(client)) {
      await runStage(client, { name: `index ${name}`, run: all([sql]) }, log);
    }
    for (const stage of afterIndexes()) await runStage(client, stage, log);
  } finally {
    await client.end();
  }
  return url;
}

function beforeIndexes(trades: number): Stage[] {
  const chunks = Array.from({ length: Math.ceil(trades / 10 / OFFERS_A_STAGE) }, (_, n) => [
    n * OFFERS_A_STAGE,
    Math.min((n + 1) * OFFERS_A_STAGE, (trades / TRADES_A_GROUP) * OFFERS_A_GROUP),
  ]);
  const chunked = (name: string, sql: string): Stage[] =>
    chunks.map((chunk) => ({
      name: `${name} ${chunk.join(" to ")}`,
      run: async (client) => {
        await client.query(sql, chunk);
      },
    }));
  return [
    { name: "markets", run: makeRegistry },
    { name: "accounts", run: makeAccounts },
    { name: "indexes off", run: stripTables },
    ...chunked("trades of offers", insertTrades(trades)),
    ...chunked("offers", insertOffers(trades)),
    { name: "blocks", run: all([INSERT_BLOCKS]) },
  ];
}

const HISTORY = ["dex_token", "dex_pair", "dex_block", "dex_offer", "dex_trade"];
const KEPT = [
  "market_direction",
  "offer_left",
  "cancellation",
  "standing_offer",
  "period_figure",
  "market_figure",
  "write_state",
];

const afterIndexes = (): Stage[] => [
  { name: "vacuum of history", alone: true, run: all([`vacuum (analyze) ${HISTORY.join(", ")}`]) },
  { name: "kept", run: all(["select ingest.rebuild()"]) },
  {
    name: "vacuum of what is kept",
    alone: true,
    run: all(KEPT.map((table) => `vacuum (analyze) dex_private.${table}`)),
  },
  { name: "verified", run: verify },
];

async function stripTables(client: Client): Promise<void> {
  for (const table of ["dex_trade", "dex_offer"]) await dropIndexes(client, table);
}

/** A stage that runs these statements one after another. */
const all =
  (statements: string[]) =>
  async (client: Client): Promise<void> => {
    for (const statement of statements) await client.query(statement);
  };
