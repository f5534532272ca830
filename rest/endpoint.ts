// An endpoint of a version: its declaration, and how that is served.
import { Router, type Request } from "express";
import { performance } from "node:perf_hooks";
import type { z } from "zod";
import type { Database } from "../db/connect.ts";
import { encodingFor, etagAnswer, sendAnswer, type Answer } from "../server/http/answer.ts";
import { BadParameter } from "../server/http/errors.ts";
import { observationOf } from "../server/http/observe/observation.ts";
import { recentEnough } from "../server/http/min-block.ts";
import { readOnlyRoute } from "../server/http/read-only-route.ts";
import type { Envelope } from "../server/http/envelope.ts";
import type { LastHead } from "../server/http/last-head.ts";
import { readPair, readQuery, type PairName, type Parameters } from "./params.ts";
import { findPair } from "./queries/pairs.ts";
import type { Moment, Snapshot } from "./queries/snapshot.ts";
import { onlyRecord } from "./records.ts";

type PairOf<Path extends string> = Path extends `${string}/:base/:quote` ? PairName : undefined;

/** An endpoint is served by its declaration, and described by it in OpenAPI. */
interface Declared<Path extends string, Query, Row, Data> {
  /** The name of its function in clients generated from the OpenAPI document. */
  id: string;
  /** Express's pattern, below the version; `/:base/:quote` at its end is a pair. */
  path: Path;
  summary: string;
  description: string;
  /** The parameters of the query string. */
  query?: Parameters<Query>;
  find: (db: Database, pair: PairOf<Path>, query: Query) => Promise<Snapshot<Row>>;
  /** Makes `data` of the envelope. */
  shape: (rows: Row[], moment: Moment) => Data;
  data: z.ZodType<Data>;
  /** `text/plain` where the answer is the text that `shape` makes. Default: JSON. */
  type?: "text/plain";
}

export type Endpoint = Declared<string, Record<string, unknown>, unknown, unknown>;

/** Checks the types of a declaration against each other; `Endpoint` no longer has them. */
export const endpoint = <Path extends string, Query, Row, Data>(
  declared: Declared<Path, Query, Row, Data>,
): Endpoint => declared as unknown as Endpoint;

/** A version of the interface; its name is the first segment of its paths. */
export interface Version {
  name: string;
  description: string;
  envelope: Envelope;
  endpoints: Endpoint[];
}

// The head moves every few seconds at most. A proxy's cache may answer a burst of equal requests, and no
// figure is more than a second late.
export const CACHE_CONTROL = "public, max-age=1";

// A proxy's cache must not give an older answer to a client that asks for a block.
const VARY = "Accept-Encoding, X-Min-Block";

/** Gives equal requests one answer, if the cache is on. */
export type ShareAnswer = (
  req: Request,
  make: () => Promise<Answer | undefined>,
) => Promise<Answer | undefined>;

export function versionRouter(
  { endpoints, envelope }: Version,
  db: Database,
  head: LastHead,
  share: ShareAnswer = (_req, make) => make(),
): Router {
  const router = Router({ caseSensitive: true });
  for (const declared of endpoints) {
    readOnlyRoute(router, declared.path, async (req, res) => {
      const make = async (): Promise<Answer> => {
        const { rows, ...moment } = await timed(req, find(declared, db, head, req));
        const data = declared.shape(rows, moment);
        const plain =
          declared.type === undefined
            ? JSON.stringify(envelope.success(data, moment.time))
            : String(data);
        const type = `${declared.type ?? "application/json"}; charset=utf-8`;
        const { block } = moment;
        const content = { type, cacheControl: CACHE_CONTROL, vary: VARY, plain, block };
        return etagAnswer(content, encodingFor(req, "gzip"));
      };
      const answer = (await share(req, make)) ?? (await make());
      sendAnswer(req, res, await recentEnough(req, answer, make));
    });
  }
  return router;
}

async function find(
  declared: Endpoint,
  db: Database,
  head: LastHead,
  req: Request,
): Promise<Snapshot<unknown>> {
  const pair = namesPair(declared.path) ? readPair(req) : undefined;
  const query = readQuery(req, declared.query ?? {});
  if (query instanceof BadParameter) {
    // An unknown pair is answered before a bad parameter.
    if (pair !== undefined) onlyRecord(head.see(await findPair(db, pair)).rows);
    throw query;
  }
  // `endpoint` has checked which paths have a pair.
  return head.see(await declared.find(db, pair as PairOf<string>, query));
}

/** Whether a path is about one pair. */
export const namesPair = (path: string): boolean => path.endsWith("/:base/:quote");

/** Notes how long the request waited for the database. */
async function timed<Found>(req: Request, found: Promise<Found>): Promise<Found> {
  const since = performance.now();
  try {
    return await found;
  } finally {
    const observation = observationOf(req);
    if (observation !== undefined) observation.databaseMs = performance.now() - since;
  }
}
