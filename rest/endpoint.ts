// An endpoint of a version: its declaration, and how that is served.
import { Router } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import type { z } from "zod";
import type { Database, Pool } from "../db/connect.ts";
import {
  CACHE_CONTROL,
  CACHE_CONTROL_OF_FINAL,
  encodingFor,
  etagAnswer,
  sendAnswer,
  type Answer,
  type ShareAnswer,
} from "../http/answer.ts";
import { BadParameter, HeadBehind, noHistory } from "../http/errors.ts";
import { readOnlyRoute } from "../http/paths.ts";
import { isTooOld, stateOf, type Step } from "../http/request.ts";
import type { Envelope } from "../http/envelope.ts";
import type { DatabaseGate, LastHead } from "../http/known-database.ts";
import { failInFront, type Refuse } from "../http/refusal.ts";
import type { Parameters } from "./params.ts";
import { readAsOf, readQuery, type ParametersInPath } from "./question.ts";
import { makeFindAsOf, type FindAsOf, type PastSnapshot } from "../market/queries/as-of.ts";
import { findPair } from "../market/queries/pairs.ts";
import {
  pairNamed,
  type Moment,
  type NamedInPath,
  type PairName,
  type Snapshot,
} from "../market/queries/snapshot.ts";
import { onlyRecord } from "../market/records.ts";

type PairOf<Path extends string> = Path extends `${string}/:base/:quote` ? PairName : undefined;

/** An endpoint is served by its declaration, and described by it in OpenAPI. */
interface Declared<Path extends string, Query, Row, Data> {
  /** The name of its function in clients generated from the OpenAPI document. */
  id: string;
  /** Express's pattern, below the version; `/:base/:quote` at its end is a pair. */
  path: Path;
  summary: string;
  description: string;
  /** The parameters: one that `path` names is read there, others in the query string. */
  query?: Parameters<Query>;
  /** `finality` is that of FINALITY. */
  find: (
    db: Database,
    pair: PairOf<Path>,
    query: Query,
    finality?: number,
  ) => Promise<Snapshot<Row>>;
  /** What /ready reads in its place, where `find` reads every market. Default: `find` by the examples, of no pair. */
  probe?: (db: Database) => Promise<unknown>;
  /** Makes `data` of the envelope. */
  shape: (rows: Row[], moment: Moment) => Data;
  data: z.ZodType<Data>;
  /** `text/plain` where the answer is the text that `shape` makes. Default: JSON. */
  type?: "text/plain";
  /** Whether the answer has a `Content-Digest`: a mirror copies what no digest of a block has. */
  isDigested?: boolean;
  /** Whether it has what may change while a final block does not, so that caches never keep it for an hour. */
  isOfNow?: boolean;
  /** Whether it has no history: a block that is asked for is refused. */
  isOfHead?: boolean;
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

// A proxy's cache must not give an older answer to a client that asks for a block.
const VARY = "Accept-Encoding, X-Min-Block";

/** A request whose path matches that of an endpoint. */
type Asked = IncomingMessage & { url: string; params: NamedInPath & ParametersInPath };

type Handle = (req: Asked, res: ServerResponse) => Promise<void>;

/** What the endpoints of a version are served from. */
interface Sources {
  db: Pool;
  head: LastHead;
  share?: ShareAnswer | undefined;
  findAsOf?: FindAsOf;
  finality?: number | undefined;
}

const unshared: ShareAnswer = (_req, make) => make();

/** How each endpoint is answered. */
function handlersOf({ endpoints, envelope }: Version, sources: Sources): [Endpoint, Handle][] {
  const { db, head, share = unshared, finality } = sources;
  const { findAsOf = makeFindAsOf(db, finality) } = sources;
  return endpoints.map((declared) => [
    declared,
    async (req, res) => {
      const make = async (): Promise<Answer> => {
        const found = await timed(req, find(declared, { db, head, findAsOf, finality }, req));
        const { rows, time, block } = found;
        const moment = { time, block };
        const data = declared.shape(rows, moment);
        const plain =
          declared.type === undefined
            ? JSON.stringify(envelope.success(data, moment.time))
            : String(data);
        const type = `${declared.type ?? "application/json"}; charset=utf-8`;
        const past = "isFinal" in found ? found : undefined;
        const isKept = past?.isFinal === true && declared.isOfNow !== true;
        const cacheControl = isKept ? CACHE_CONTROL_OF_FINAL : CACHE_CONTROL;
        const { isDigested } = declared;
        const content = { type, cacheControl, vary: VARY, plain, block, isDigested };
        const answer = await etagAnswer(content, encodingFor(req, "gzip"));
        return past === undefined ? answer : { ...answer, block: past.head, isPast: true };
      };
      const answer = (await share(req, make)) ?? (await make());
      sendAnswer(req, res, await recentEnough(req, answer, make));
    },
  ]);
}

/** Serves a version in Express. */
export function versionRouter(version: Version, sources: Sources): Router {
  const router = Router({ caseSensitive: true });
  for (const [{ path }, handle] of handlersOf(version, sources)) {
    readOnlyRoute(router, path, handle);
  }
  return router;
}

interface PlainGetOptions extends Sources {
  versions: readonly Version[];
  /** Requests before it opens are Express's too. */
  gate: Pick<DatabaseGate, "obstacle">;
  refuse: Refuse;
  log: (error: unknown) => void;
}

/** A version, the name of an endpoint, and perhaps a pair. */
const PLAIN = /^((?:\/[\w.-]+){2})(?:\/([\w.-]+)\/([\w.-]+))?\/?(?:\?|$)/;

function matchPlain(url = ""): NamedInPath & { route: string } {
  const [, path = "", base, quote] = PLAIN.exec(url) ?? [];
  return { route: base === undefined ? path : `${path}/:base/:quote`, base, quote };
}

/** Finds the pattern of the endpoint at a path without anything to decode, for what is refused in front of it. */
export function plainRoutes(versions: readonly Version[]): (url?: string) => string | undefined {
  const routes = new Set(
    versions.flatMap(({ name, endpoints }) => endpoints.map(({ path }) => `/${name}${path}`)),
  );
  return (url) => {
    const { route } = matchPlain(url);
    return routes.has(route) ? route : undefined;
  };
}

/**
 * Answers most requests in front of Express: a GET of an endpoint by a path without anything to decode. Express takes
 * about a tenth of such a request, and gets whatever else is asked.
 */
export function answerPlainGets({
  versions,
  gate,
  refuse,
  log,
  ...sources
}: PlainGetOptions): Step {
  const handlers = new Map<string, Handle>(
    versions.flatMap((version) =>
      handlersOf(version, sources).map(
        ([{ path }, handle]) => [`/${version.name}${path}`, handle] as const,
      ),
    ),
  );
  const fail = failInFront(refuse, log);
  return (next) => (req, res) => {
    const isPlain = req.method === "GET" && gate.obstacle === undefined;
    const { route, base, quote } = matchPlain(isPlain ? req.url : "");
    const handle = handlers.get(route);
    if (handle === undefined) {
      next(req, res);
      return;
    }
    stateOf(req).route = route;
    const asked: Asked = Object.assign(req, { url: req.url ?? "", params: { base, quote } });
    handle(asked, res).catch((error: unknown) => fail(error, req, res));
  };
}

async function find(
  declared: Endpoint,
  { db, head, findAsOf, finality }: Sources & { findAsOf: FindAsOf },
  req: Asked,
): Promise<Snapshot<unknown> | PastSnapshot<unknown>> {
  const pair = namesPair(declared.path) ? pairNamed(req.params) : undefined;
  const query = readQuery(req, declared.query ?? {});
  const asOf = readAsOf(req);
  if (query instanceof BadParameter || asOf instanceof BadParameter) {
    // An unknown pair is answered before a bad parameter.
    if (pair !== undefined) onlyRecord(head.see(await findPair(db, pair)).rows);
    if (query instanceof BadParameter) throw query;
  }
  if (asOf instanceof BadParameter) throw asOf;
  if (asOf !== undefined && declared.isOfHead === true) throw noHistory(asOf);
  // `endpoint` has checked which paths have a pair.
  const findIn = (from: Database) => declared.find(from, pair as PairOf<string>, query, finality);
  return asOf === undefined ? head.see(await findIn(db)) : findAsOf(asOf, findIn);
}

/** Whether a path is about one pair. */
export const namesPair = (path: string): boolean => path.endsWith("/:base/:quote");

/** Notes how long the request waited for the database. */
async function timed<Found>(req: IncomingMessage, found: Promise<Found>): Promise<Found> {
  const since = performance.now();
  try {
    return await found;
  } finally {
    stateOf(req).databaseMs = performance.now() - since;
  }
}

/**
 * Gives a shared answer, or makes one where the shared one was begun before the request's block was written.
 * Throws if a reorganisation has taken that block back in between.
 */
async function recentEnough(
  req: Asked,
  shared: Answer,
  make: () => Promise<Answer>,
): Promise<Answer> {
  const state = stateOf(req);
  if (!isTooOld(state, shared.block)) return shared;
  const made = await make();
  if (isTooOld(state, made.block)) throw new HeadBehind(made.block ?? null, state.minBlock ?? 0);
  return made;
}
