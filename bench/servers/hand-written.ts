// A minimal hand-written server: Express 5 and `pg`, the same SQL, answers by res.json.
import express, { type Response } from "express";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { makePool } from "../../db/connect.ts";
import { findMarket, findMarkets } from "../../rest/queries/markets.ts";
import { findPair, findPairs } from "../../rest/queries/pairs.ts";
import { findPrice, findPrices } from "../../rest/queries/prices.ts";
import type { Snapshot } from "../../rest/queries/snapshot.ts";
import { findTrades } from "../../rest/queries/trades.ts";
import { findVolume, findVolumes } from "../../rest/queries/volumes.ts";
import { listenAndTell } from "./listen.ts";
import type { RecordedPage } from "./recorded-page.ts";

type Keyed = { key: string } & object;

// A count of millions of rows keeps all connections for seconds.
const WAIT_MS = 60_000;
const pool = makePool(process.env["DATABASE_URL"] ?? "", {
  role: "dex_reader",
  poolSize: 10,
  waitMs: WAIT_MS,
});
const pages = new Map(
  (JSON.parse(await readFile(process.env["PAGES"] ?? "", "utf8")) as RecordedPage[]).map(
    (page) => [page.name, page] as const,
  ),
);

const app = express();

const asV1 = (res: Response, data: unknown, time: string): void => {
  res.json({ data, time: Math.floor(Date.parse(time) / 1000), message: "success" });
};
const asV2 = (res: Response, data: unknown, time: string): void => {
  res.json({ data, time, message: "success" });
};
const byKey = (rows: Keyed[]): object =>
  Object.fromEntries(rows.map(({ key, ...record }) => [key, record]));
const first = ([row]: Keyed[]): object => {
  const { key: _key, ...record } = row ?? { key: "" };
  return record;
};

function list(path: string, find: () => Promise<Snapshot<Keyed>>, send: typeof asV1): void {
  app.get(path, async (_req, res) => {
    const { rows, time } = await find();
    send(res, byKey(rows), time);
  });
}
function single(
  path: string,
  find: (pair: { base: string; quote: string }) => Promise<Snapshot<Keyed>>,
  send: typeof asV1,
): void {
  app.get(`${path}/:base/:quote`, async (req, res) => {
    const { rows, time } = await find(req.params);
    send(res, first(rows), time);
  });
}

list("/v1/markets", () => findMarkets(pool), asV1);
single("/v1/markets", (pair) => findMarket(pool, pair), asV1);
list("/v1/pairs", () => findPairs(pool), asV1);
single("/v1/pairs", (pair) => findPair(pool, pair), asV1);
list("/v1/prices", () => findPrices(pool), asV1);
single("/v1/prices", (pair) => findPrice(pool, pair), asV1);
list("/v1/volumes", () => findVolumes(pool), asV1);
list("/v2/prices", () => findPrices(pool), asV2);
list("/v2/volumes", () => findVolumes(pool), asV2);
single("/v2/volumes", (pair) => findVolume(pool, pair), asV2);

app.get("/v2/trades/:base/:quote", async (req, res) => {
  const { base, quote } = req.params;
  const limit = Number(req.query["limit"] ?? 100);
  const fromId = Number(req.query["fromId"] ?? Number.MAX_SAFE_INTEGER);
  const { rows, time } = await findTrades(pool, { base, quote }, { limit, fromId });
  const data = rows.map(({ id, price, volume, time }) => ({ id: Number(id), price, volume, time }));
  asV2(res, data, time);
});

app.post("/graphql", express.json(), async (req, res) => {
  const { operationName } = req.body as { operationName: string };
  const page = pages.get(operationName);
  if (page === undefined) {
    res.status(404).end();
    return;
  }
  const [rows, counted] = await Promise.all([
    pool.query<string[]>({ ...page.nodes, name: page.name, rowMode: "array" }),
    page.count && pool.query<string[]>({ ...page.count, name: `${page.name}_n`, rowMode: "array" }),
  ]);
  const nodes = rows.rows.map((row) =>
    Object.fromEntries(
      page.fields.map(({ name, column, isInteger }) => [
        name,
        isInteger ? Number(row[column]) : row[column],
      ]),
    ),
  );
  const totalCount = counted && Number(counted.rows[0]?.[0]);
  res.json({ data: { allDexTrades: { ...(counted && { totalCount }), nodes } } });
});

listenAndTell(createServer(app));
