// An endpoint of a version: what is declared of it, and how it is served by that.
import { Router, type Request } from "express";
import { performance } from "node:perf_hooks";
import type { z } from "zod";
import type { Database } from "../db/connect.ts";
import { encodingFor, etagAnswer, sendAnswer, type Answer } from "../server/http/answer.ts";
import { BadParameter } from "../server/http/errors.ts";
import { observationOf } from "../server/http/observe/observation.ts";
import { readOnlyRoute } from "../server/http/read-only-route.ts";
import type { Envelope } from "../server/http/envelope.ts";
import type { LastHead } from "../server/http/last-head.ts";
import { readPair, readQuery, type PairName, type Parameters } from "./params.ts";
import { findPair } from "./queries/pairs.ts";
import type { Snapshot } from "./queries/snapshot.ts";
import { onlyRecord } from "./records.ts";

/** What an endpoint is asked for: the pair of the path, if that names one, and its parameters. */
export interface Asked<Path extends string, Query> {
  pair: Path extends `${string}/:base/:quote` ? PairName : undefined;
  query: Query;
}

/** All that there is to say of an endpoint: it is served by this, and described by it in OpenAPI. */
export interface Declared<Path extends string, Query, Row, Data> {
  /** The name of its function in clients that are made from the OpenAPI document. */
  id: string;
  /** Express's pattern, below the version; `/:base/:quote` at its end is a pair. */
  path: Path;
  /** What it gives, in a line. */
  summary: string;
  /** What else there is to know. */
  description: string;
  /** The parameters of its query string. */
  query?: Parameters<Query>;
  /** Asks for the rows. */
  find: (db: Database, asked: Asked<Path, Query>) => Promise<Snapshot<Row>>;
  /** Makes the rows what `data` of the envelope is. */
  shape: (rows: Row[]) => Data;
  /** What `shape` gives. */
  data: z.ZodType<Data>;
}

/** An endpoint among others. */
export type Endpoint = Declared<string, Record<string, unknown>, unknown, unknown>;

/** Declares an endpoint. Here alone it is seen that what it finds, shapes and describes are one. */
export const endpoint = <Path extends string, Query, Row, Data>(
  declared: Declared<Path, Query, Row, Data>,
): Endpoint => declared as unknown as Endpoint;

/** A version of the interface: its first segment in a path is its name. */
export interface Version {
  name: string;
  description: string;
  envelope: Envelope;
  endpoints: Endpoint[];
}

// Figures stand until the head moves, every few seconds at most: a cache in front may answer a burst of
// equal requests, and no figure is more than a second late.
export const CACHE_CONTROL = "public, max-age=1";

/** Gives requests for the same one answer, where answers are kept. */
export type ShareAnswer = (
  req: Request,
  make: () => Promise<Answer | undefined>,
) => Promise<Answer | undefined>;

/** The paths below a version's own. */
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
        const { rows, time } = await seen(head, req, ask(declared, db, head, req));
        const plain = JSON.stringify(envelope.success(declared.shape(rows), time));
        const type = "application/json; charset=utf-8";
        const content = { type, cacheControl: CACHE_CONTROL, plain };
        return etagAnswer(content, encodingFor(req, "gzip"));
      };
      sendAnswer(req, res, (await share(req, make)) ?? (await make()));
    });
  }
  return router;
}

/** What is asked, not awaited: each promise in between would be one more turn for every request. */
function ask(
  { path, query: parameters, find }: Endpoint,
  db: Database,
  head: LastHead,
  req: Request,
): Promise<Snapshot<unknown>> {
  const pair = namesPair(path) ? readPair(req) : undefined;
  const query = parameters === undefined ? {} : readQuery(req, parameters);
  // Which endpoints have a pair, `endpoint` has seen.
  if (!(query instanceof BadParameter))
    return find(db, { pair, query } as Asked<string, typeof query>);
  return refuse(query, pair, db, head);
}

/** Rejects by a bad parameter; but an unknown pair is answered before it. */
async function refuse(
  query: BadParameter,
  pair: PairName | undefined,
  db: Database,
  head: LastHead,
): Promise<never> {
  if (pair !== undefined) {
    const found = await findPair(db, pair);
    head.see(found);
    onlyRecord(found.rows);
  }
  throw query;
}

/** Whether a path is about one pair. */
export const namesPair = (path: string): boolean => path.endsWith("/:base/:quote");

/** Notes how long the request waits for the database, and the moment that it is told of. */
async function seen(
  head: LastHead,
  req: Request,
  asked: Promise<Snapshot<unknown>>,
): Promise<Snapshot<unknown>> {
  const since = performance.now();
  try {
    const found = await asked;
    head.see(found);
    return found;
  } finally {
    const observation = observationOf(req);
    if (observation !== undefined) observation.databaseMs = performance.now() - since;
  }
}
