// A minimal hand-written server: Express 5 and `pg`, the same SQL, answers by res.json; with DUTIES=on, as in production.
import express, { type Response } from "express";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { makePool } from "../../db/connect.ts";
import { findMarkets } from "../../market/queries/markets.ts";
import { findPrice } from "../../market/queries/prices.ts";
import { findTrades } from "../../market/queries/trades.ts";
import { findVolumes } from "../../market/queries/volumes.ts";
import { listenAndTell } from "./listen-free.ts";
import type { RecordedPage } from "./recorded-page.ts";

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
if (process.env["DUTIES"] === "on") (await import("./duties.ts")).addDuties(app);

const asV1 = (res: Response, data: unknown, time: string): void => {
  res.json({ data, time: Math.floor(Date.parse(time) / 1000), message: "success" });
};
const asV2 = (res: Response, data: unknown, time: string): void => {
  res.json({ data, time, message: "success" });
};
const byKey = (rows: { key: string }[]): object =>
  Object.fromEntries(rows.map(({ key, ...record }) => [key, record]));

app.get("/v1/markets", async (_req, res) => {
  const { rows, time } = await findMarkets(pool);
  asV1(res, byKey(rows), time);
});
app.get("/v1/prices/:base/:quote", async (req, res) => {
  const { rows, time } = await findPrice(pool, req.params);
  const { key: _key, ...record } = rows[0] ?? { key: "" };
  asV1(res, record, time);
});
app.get("/v2/volumes", async (_req, res) => {
  const { rows, time } = await findVolumes(pool);
  asV2(res, byKey(rows), time);
});
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
