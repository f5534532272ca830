// Serves the market pages to browsers, and the index of the interfaces to programs.
import { Router, type Request, type Response } from "express";
import type { Pool } from "../db/connect.ts";
import type { ExportedFolder, Listing } from "../db/export/exported-folder.ts";
import { UnknownPair } from "../market/absent.ts";
import type { FindAsOf } from "../market/queries/as-of.ts";
import { findNewestTrades } from "../market/queries/deals.ts";
import { findPair, findPairs } from "../market/queries/pairs.ts";
import { inSnapshot, pairNamed } from "../market/queries/snapshot.ts";
import { findSummaries } from "../market/queries/summaries.ts";
import { findUsdVolumes } from "../market/queries/usd-volumes.ts";
import { onlyRecord } from "../market/records.ts";
import {
  CACHE_CONTROL,
  CACHE_CONTROL_OF_FINAL,
  encodingFor,
  etagAnswer,
  keptAnswers,
  sendAnswer,
  type Answer,
  type Content,
  type ShareAnswer,
} from "../http/answer.ts";
import type { DatabaseGate, LastHead } from "../http/known-database.ts";
import { BadParameter, noHistory, NoSuchFile } from "../http/errors.ts";
import { readOnlyRoute } from "../http/paths.ts";
import { release } from "../http/release.ts";
import { clientFacing, isFault } from "../http/refusal.ts";
import { fixedHeadersWith } from "../http/fixed-headers.ts";
import {
  absentBlockDocument,
  badAccountDocument,
  noFilesDocument,
  ofHeadDocument,
  unavailableDocument,
  unknownMarketDocument,
} from "./error-documents.ts";
import { accountDocument } from "./account-document.ts";
import { findAccount } from "./account-page.ts";
import type { Explorer } from "./document.ts";
import { pageFilesRouter } from "./files.ts";
import { filesDocument } from "./files-document.ts";
import { INTERFACES } from "./interfaces.ts";
import { marketDocument } from "./market-document.ts";
import { marketsDocument } from "./markets-document.ts";
import { wantsPage, type ReadAsOf } from "./page-questions.ts";
import { readState, type StateOptions } from "./service-state.ts";
import { stateDocument } from "./state-document.ts";
import { tradesDocument } from "./trades-document.ts";
import { findMarket, findPastMarket, intervalIn } from "./shown-market.ts";

interface PageOptions {
  pool: Pool;
  gate: DatabaseGate;
  head: LastHead;
  readAsOf: ReadAsOf;
  findAsOf: FindAsOf;
  /** Default: each request has a separate answer. */
  share?: ShareAnswer | undefined;
  /** Default: no link leads to one. */
  explorer?: Explorer | undefined;
  /** The tokens that are worth a dollar. Default: none. */
  usdTokens?: readonly string[] | undefined;
  /** Of the files of each day. Default: none. */
  folder?: ExportedFolder | undefined;
  /** Of the service, as its clients see it. */
  publicUrl?: string | undefined;
  state: StateOptions;
  /** Gets each error that is not the client's. */
  log: (error: unknown) => void;
}

// No inline script and no inline style.
const FIXED = fixedHeadersWith(
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

const NEWEST_TRADES = 50;
const HTML = "text/html; charset=utf-8";
const JSON_INDEX: Content = {
  type: "application/json; charset=utf-8",
  // It changes with a release only.
  cacheControl: "public, max-age=300",
  vary: "Accept, Accept-Encoding",
  plain: JSON.stringify({ version: release(), interfaces: INTERFACES }),
};

interface Page extends Pick<Answer, "block" | "isPast"> {
  text: string;
  /** Default: of the head. */
  cacheControl?: string;
}

/** The documents for what the client can mend. */
interface Refusals {
  unknown?: () => string;
  refused?: (message: string) => string;
}

export function pageRouter({
  pool,
  gate,
  head,
  readAsOf,
  findAsOf,
  share = (_req, make) => make(),
  explorer = {},
  usdTokens = [],
  folder,
  publicUrl,
  state,
  log,
}: PageOptions): Router {
  const router = Router({ caseSensitive: true });
  router.use(pageFilesRouter());

  const ofMarkets = ofHead((req, res) => answerPage(req, res, readMarkets));
  readOnlyRoute(router, "/", async (req, res) => {
    if (wantsPage(req)) await ofMarkets(req, res);
    else await answerContent(req, res, JSON_INDEX);
  });

  readOnlyRoute(router, "/markets/:base/:quote", async (req, res) => {
    const { base = "", quote = "" } = req.params as Record<string, string>;
    await answerPage(req, res, () => readMarket(req), {
      unknown: () => unknownMarketDocument(base, quote),
      refused: (message) => absentBlockDocument({ base, quote }, message, req.url),
    });
  });

  const ofTrades = ofHead((req, res) => answerPage(req, res, readTrades));
  readOnlyRoute(router, "/trades", ofTrades);

  // It is answered whatever the database does, and is never kept.
  const ofState = ofHead(async (req, res) => {
    const plain = stateDocument(await readState(pool, gate, state), Date.now());
    await answerContent(req, res, { type: HTML, cacheControl: "no-store", plain, fixed: FIXED });
  });
  readOnlyRoute(router, "/state", ofState);

  const ofAccount = ofHead(async (req, res) => {
    const { address = "" } = req.params as Record<string, string>;
    await answerPage(req, res, () => readAccount(address, req.url), {
      refused: (message) => badAccountDocument(address, message),
    });
  });
  readOnlyRoute(router, "/accounts/:address", ofAccount);

  let base = publicUrl;
  // A year of files is a long page. Caches keep it for all, so it names no Host that a client sends.
  const filesAnswer = keptAnswers(({ contents }: Listing) => ({
    ...{ type: HTML, cacheControl: "public, max-age=60", fixed: FIXED },
    plain: filesDocument(contents.days, `${base}/v2/files/`),
  }));

  const ofFiles = ofHead(async (req, res) => {
    const { localPort } = req.socket;
    // The client has gone.
    if (localPort === undefined) return;
    base ??= `http://localhost:${localPort}`;
    const listing = await folder?.listing();
    if (listing) sendAnswer(req, res, await filesAnswer(listing, encodingFor(req, "gzip")));
    else answerError(res, new NoSuchFile("no day has been exported"), { unknown: noFilesDocument });
  });
  readOnlyRoute(router, "/files", ofFiles);

  /** What has no history refuses a block, as in REST. */
  function ofHead(handle: (req: Request, res: Response) => Promise<void>) {
    return async (req: Request, res: Response): Promise<void> => {
      const asOf = readAsOf(req);
      if (asOf === undefined) {
        await handle(req, res);
        return;
      }
      const error = asOf instanceof BadParameter ? asOf : noHistory(asOf);
      answerError(res, error, { refused: ofHeadDocument });
    };
  }

  async function readMarkets(): Promise<Page> {
    const [pairs, summaries, volumes] = await inSnapshot(pool, async (db) => [
      await findPairs(db),
      head.see(await findSummaries(db)),
      usdTokens.length === 0 ? [] : (await findUsdVolumes(db, usdTokens)).rows,
    ]);
    const dollars = new Map(volumes.map(({ key, ...volume }) => [key, volume]));
    const byPair = new Map(summaries.rows.map(({ key, ...summary }) => [key, summary]));
    const markets = pairs.rows.flatMap(({ key, base, quote, active }) => {
      const summary = byPair.get(key);
      return summary === undefined
        ? []
        : [{ base, quote, active, summary, dollars: dollars.get(key) }];
    });
    return { text: marketsDocument(markets, summaries.time, usdTokens) };
  }

  async function readMarket(req: Request): Promise<Page> {
    const asked = pairNamed(req.params);
    const asOf = readAsOf(req);
    if (asOf === undefined) {
      const found = head.see(await inSnapshot(pool, (db) => findMarket(db, asked)));
      return { text: marketDocument(onlyRecord(found.rows), found, { explorer }) };
    }
    if (asOf instanceof BadParameter) {
      // An unknown pair is answered before it.
      onlyRecord(head.see(await findPair(pool, asked)).rows);
      throw asOf;
    }
    const found = await findAsOf(asOf, findPastMarket(asked, intervalIn(req.url)));
    const market = onlyRecord(found.rows);
    const { next, areLasting } = market.neighbours;
    // The links to the blocks beside it must stay right too.
    const isFinal = found.isFinal && areLasting && next !== null && next <= (found.final ?? 0);
    return {
      text: marketDocument(market, found, { explorer, past: market }),
      ...{ block: found.head, isPast: true },
      ...(isFinal && { cacheControl: CACHE_CONTROL_OF_FINAL }),
    };
  }

  async function readTrades(): Promise<Page> {
    const found = head.see(await findNewestTrades(pool, NEWEST_TRADES));
    return { text: tradesDocument(found.rows, found, explorer) };
  }

  async function readAccount(address: string, url: string): Promise<Page> {
    const found = head.see(await findAccount(pool, address, url));
    return { text: accountDocument(found, explorer) };
  }

  async function answerPage(
    req: Request,
    res: Response,
    read: () => Promise<Page>,
    refusals: Refusals = {},
  ): Promise<void> {
    try {
      const { refusal } = gate;
      if (refusal !== undefined) throw refusal;
      const make = async (): Promise<Answer> => {
        const { text: plain, cacheControl = CACHE_CONTROL, ...of } = await read();
        const content = {
          ...{ type: HTML, cacheControl, vary: "Accept, Accept-Encoding" },
          ...{ plain, fixed: FIXED },
        };
        return { ...(await etagAnswer(content, encodingFor(req, "gzip"))), ...of };
      };
      sendAnswer(req, res, (await share(req, make)) ?? (await make()));
    } catch (error) {
      answerError(res, error, refusals);
    }
  }

  /** A person reads it, so it is a page too. */
  function answerError(res: Response, error: unknown, { unknown, refused }: Refusals): void {
    const shown = clientFacing(error);
    if (isFault(error)) log(error);
    const [status, text] =
      (error instanceof UnknownPair || error instanceof NoSuchFile) && unknown
        ? [404, unknown()]
        : shown.status === 400 && refused
          ? [400, refused(shown.message)]
          : [shown.status, unavailableDocument(shown.message)];
    const own = ["Content-Type", HTML, "Cache-Control", "no-store", "Vary", "Accept"];
    const length = ["Content-Length", String(Buffer.byteLength(text))];
    const headers = [...FIXED, ...own, ...length, ...Object.entries(shown.headers).flat()];
    res.writeHead(status, headers).end(text);
  }

  return router;
}

const answerContent = async (req: Request, res: Response, content: Content): Promise<void> =>
  sendAnswer(req, res, await etagAnswer(content, encodingFor(req, "gzip")));
