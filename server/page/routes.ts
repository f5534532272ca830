// Serves the market pages to browsers, and the index of the interfaces to programs.
import { Router, type Request, type Response } from "express";
import type { Pool } from "../../db/connect.ts";
import type { ShareAnswer } from "../../rest/endpoint.ts";
import { readPair } from "../../rest/params.ts";
import { bookOf, findBook } from "../../rest/queries/book.ts";
import { findPair, findPairs } from "../../rest/queries/pairs.ts";
import { inSnapshot } from "../../rest/queries/snapshot.ts";
import { findSummaries, findSummary } from "../../rest/queries/summaries.ts";
import { findTrades, tradeRecords } from "../../rest/queries/trades.ts";
import { encodingFor, etagAnswer, sendAnswer, type Answer, type Content } from "../http/answer.ts";
import type { DatabaseGate } from "../http/database-gate.ts";
import { DatabaseNotReady, DatabaseUnreachable, UnknownPair } from "../http/errors.ts";
import type { LastHead } from "../http/last-head.ts";
import { readOnlyRoute } from "../http/read-only-route.ts";
import { clientFacing } from "../http/refusal.ts";
import { standingHeadersWith } from "../http/standing-headers.ts";
import {
  marketDocument,
  marketsDocument,
  unavailableDocument,
  unknownMarketDocument,
} from "./documents.ts";
import { pageFilesRouter } from "./files.ts";
import { INTERFACES } from "./interfaces.ts";

interface PageOptions {
  pool: Pool;
  gate: DatabaseGate;
  head: LastHead;
  /** Default: each request has an answer of its own. */
  share?: ShareAnswer | undefined;
  /** Gets each error that is not the client's. */
  log: (error: unknown) => void;
}

// No inline script and no inline style.
const STANDING = standingHeadersWith(
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
);

/** Those of the documents. */
export const PAGE_PATHS = /^\/(?:$|\?|markets\/)/;

const HTML = "text/html; charset=utf-8";
const JSON_INDEX: Content = {
  type: "application/json; charset=utf-8",
  // It changes with a release only.
  cacheControl: "public, max-age=300",
  vary: "Accept, Accept-Encoding",
  plain: JSON.stringify({ interfaces: INTERFACES }),
};

const BOOK_LEVELS = 15;
const NEWEST_TRADES = 50;

export function pageRouter({
  pool,
  gate,
  head,
  share = (_req, make) => make(),
  log,
}: PageOptions): Router {
  const router = Router({ caseSensitive: true });
  router.use(pageFilesRouter());

  readOnlyRoute(router, "/", async (req, res) => {
    const isPage = req.accepts(["application/json", "text/html"]) === "text/html";
    if (isPage) await answerPage(req, res, readMarkets);
    else await answerContent(req, res, JSON_INDEX);
  });

  readOnlyRoute(router, "/markets/:base/:quote", async (req, res) => {
    await answerPage(req, res, () => readMarket(req));
  });

  async function readMarkets(): Promise<string> {
    const [pairs, summaries] = await inSnapshot(pool, async (db) => [
      await findPairs(db),
      head.see(await findSummaries(db)),
    ]);
    const byPair = new Map(summaries.rows.map(({ key, ...summary }) => [key, summary]));
    const markets = pairs.rows.flatMap(({ key, base, quote, active }) => {
      const summary = byPair.get(key);
      return summary === undefined ? [] : [{ base, quote, active, summary }];
    });
    return marketsDocument(markets, summaries.time);
  }

  async function readMarket(req: Request): Promise<string> {
    const asked = readPair(req);
    return inSnapshot(pool, async (db) => {
      const { rows, time } = head.see(await findPair(db, asked));
      const [pair] = rows;
      const [summary] = (await findSummary(db, asked)).rows;
      if (pair === undefined || summary === undefined) throw new UnknownPair();
      const { key: _key, ...record } = summary;
      const book = bookOf((await findBook(db, asked, { depth: BOOK_LEVELS })).rows);
      const trades = tradeRecords((await findTrades(db, asked, { limit: NEWEST_TRADES })).rows);
      return marketDocument({ ...pair, summary: record, book, trades }, time);
    });
  }

  async function answerPage(
    req: Request,
    res: Response,
    read: () => Promise<string>,
  ): Promise<void> {
    try {
      if (gate.obstacle?.kind === "unreachable") throw new DatabaseUnreachable();
      if (gate.obstacle !== undefined) throw new DatabaseNotReady();
      const make = async (): Promise<Answer> => {
        const plain = await read();
        const content = {
          ...{ type: HTML, cacheControl: "public, max-age=1", vary: "Accept, Accept-Encoding" },
          ...{ plain, standing: STANDING },
        };
        return etagAnswer(content, encodingFor(req, "gzip"));
      };
      sendAnswer(req, res, (await share(req, make)) ?? (await make()));
    } catch (error) {
      answerError(req, res, error);
    }
  }

  /** A person reads it, so it is a page too. */
  function answerError(req: Request, res: Response, error: unknown): void {
    const told = clientFacing(error);
    if (told !== error) log(error);
    const { base = "", quote = "" } = req.params as Record<string, string>;
    const [status, text] =
      told instanceof UnknownPair
        ? [404, unknownMarketDocument(base, quote)]
        : [told.status, unavailableDocument(told.message)];
    const own = ["Content-Type", HTML, "Cache-Control", "no-store", "Vary", "Accept"];
    const length = ["Content-Length", String(Buffer.byteLength(text))];
    const headers = [...STANDING, ...own, ...length, ...Object.entries(told.headers).flat()];
    res.writeHead(status, headers).end(text);
  }

  return router;
}

const answerContent = async (req: Request, res: Response, content: Content): Promise<void> =>
  sendAnswer(req, res, await etagAnswer(content, encodingFor(req, "gzip")));
