// GraphQL and GraphiQL, as a router of Express.
// First, because PostGraphile reads the environment when it is loaded.
import "./production.ts";
import { Router, type Express, type RequestHandler } from "express";
import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import { ExpressGrafserv } from "postgraphile/grafserv/express/v4";
import type { Pool } from "../db/connect.ts";
import type { DatabaseGate } from "../http/known-database.ts";
import { databaseFailure } from "../http/database-failure.ts";
import { DatabaseNotReady, DatabaseUnreachable } from "../http/errors.ts";
import { GRAPHQL_PATH, noteRoute } from "../http/request.ts";
import { buildSchema, oneLine, SchemaConflict } from "./build-schema.ts";
import type { PersistedDocuments } from "./persisted/documents.ts";
import type { Live } from "./subscriptions/web-socket.ts";
import type { Process } from "./plain-posts.ts";
import { makePreset, type PresetOptions } from "./preset.ts";
import { catalogState, followCatalogs } from "./schema-watch.ts";

const RETRY_MS = 1000;

/** How long a request waits for the schema. */
const SCHEMA_WAIT_MS = 5000;

/** The event stream that informs GraphiQL of a changed schema. */
const STREAM = `${GRAPHQL_PATH}/stream`;

export interface GraphqlHandle {
  /** Delays requests until the schema is built, and refuses those that wait too long. */
  waitForSchema: RequestHandler;
  router: Router;
  /** Runs an operation; undefined until the schema is built. */
  readonly process: Process | undefined;
  /** Why the schema cannot be built, though the database answers. */
  reasons: () => string[];
  /** Ends the event streams, which would hold up the stop of the server. */
  endStreams: () => void;
  /** Releases what PostGraphile holds, but not the pool. */
  release: () => Promise<void>;
}

export interface WatchOptions {
  /** Logs the result of a change. */
  info: (line: string) => void;
}

export interface GraphqlOptions extends PresetOptions {
  /** The schema and the state of the catalogs are read from this pool. */
  catalogs: Pool;
  /** The schema is built when this opens: a database without all migrations has another schema. */
  gate: DatabaseGate;
  /** The service's other PostGraphile plugins. */
  plugins?: GraphileConfig.Plugin[];
  /** Follows changes of the database's schema; without it, the schema of the start stays. */
  watch?: WatchOptions | undefined;
  /** Serves subscriptions; without it, there are none. */
  live?: Live | undefined;
  /** Each that the schema, or a limit, refuses is reported when a schema is built. */
  documents?: PersistedDocuments | undefined;
  warn?: (line: string) => void;
  /** Called just before a new schema replaces the old one. */
  onNewSchema?: () => void;
}

/**
 * Serves POST /graphql, and GraphiQL at /graphiql. Requests wait up to 5 seconds until the schema is built, unless the
 * database has what cannot be in one schema. A failed build is repeated.
 */
export async function makeGraphql(
  server: Server,
  { plugins = [], catalogs, gate, watch, live, onNewSchema, ...options }: GraphqlOptions,
): Promise<GraphqlHandle> {
  const released = new AbortController();
  const { signal } = released;
  const { pool, exposedSchemas = [], log, documents, warn = () => undefined } = options;
  const { limits } = options;
  // Each schema has separate plugins, because they keep state of one schema.
  const presetOf = (schemas: readonly string[], from: Pool): GraphileConfig.Preset => ({
    extends: [makePreset({ ...options, pool: from, exposedSchemas: schemas })],
    plugins: live === undefined ? plugins : [...plugins, live.plugin],
    grafserv: { watch: watch !== undefined, eventStreamPath: STREAM },
  });
  const build = (): Promise<GraphQLSchema> =>
    buildSchema({
      presetOf: (schemas) => presetOf(schemas, catalogs),
      exposedSchemas,
      db: catalogs,
    });
  let served: GraphQLSchema | undefined;
  const check = async (schema: GraphQLSchema): Promise<void> => {
    served = schema;
    for await (const line of documents?.problems(schema, limits) ?? []) {
      if (served !== schema || signal.aborted) return;
      warn(line);
    }
  };
  // A conflict in EXPOSED_SCHEMAS stops the start.
  const atOnce =
    gate.obstacle === undefined && exposedSchemas.length > 0
      ? await build().catch(unlessConflict)
      : undefined;
  // Without routes until the gate opens.
  const router = Router();
  const streams = new Set<ServerResponse>();
  let instance: Serving | undefined;
  let following: Promise<void> | undefined;
  let process: Process | undefined;
  // Why the schema cannot be built, though the database answers.
  let conflict: string | undefined;

  const begin = async (): Promise<{ built: Promise<unknown> }> => {
    await gate.opened;
    const known = watch && (await catalogState(catalogs).catch(() => undefined));
    const note = (error: Error | undefined): void => {
      const isConflict = error !== undefined && databaseFailure(error) === undefined;
      conflict = isConflict ? oneLine(error) : undefined;
    };
    const schema = atOnce ?? untilBuilt(build, catalogs, note, log, signal);
    const serving = (instance = new Serving({ preset: presetOf(exposedSchemas, pool), schema }));
    // live/ serves WebSocket, because grafserv's own handler has no bounds.
    await serving.addTo(router as unknown as Express, server, false);
    live?.serve(server, serving);
    // Only the release makes it fail, and then no request waits for it.
    const built = Promise.resolve(schema).then(
      (first) => {
        process = serving.process;
        void check(first);
      },
      () => undefined,
    );
    if (watch === undefined) return { built };
    const rebuild = async (): Promise<void> => {
      const changed = await build();
      onNewSchema?.();
      serving.setSchema(changed);
      void check(changed);
      watch.info("The database's schema has changed: GraphQL shows it as it is now.");
    };
    const onFailure = (error: unknown): void =>
      watch.info(
        `The database's schema has changed, and cannot be shown: ${(error as Error).message}. GraphQL stays as it was.`,
      );
    following = built.then(() =>
      followCatalogs({ db: catalogs, known, signal }, rebuild, onFailure),
    );
    return { built };
  };
  if (watch) {
    router.get(STREAM, noteRoute(STREAM), (_req, res, next) => {
      streams.add(res);
      res.once("close", () => streams.delete(res));
      next();
    });
  }
  const begun = begin();
  const waitForSchema = waitFor(begun, () => conflict !== undefined);
  if (gate.obstacle === undefined) await begun;
  return {
    waitForSchema,
    router,
    get process() {
      return process;
    },
    reasons: () =>
      conflict === undefined ? [] : [`GraphQL cannot be made of the database: ${conflict}`],
    endStreams() {
      for (const response of streams) response.end();
    },
    async release() {
      released.abort();
      await following;
      await instance?.release();
    },
  };
}

class Serving extends ExpressGrafserv {
  /** What its Express handler does with a request. */
  readonly process: Process = (digest) => this.processRequest(digest);
}

/** Other failures are temporary. */
function unlessConflict(error: unknown): undefined {
  if (error instanceof SchemaConflict) throw error;
  return undefined;
}

/**
 * Repeats a failed build every second, notes the outcome of each, and logs each new reason once. A build holds up the
 * process, so what the catalogs are the reason for waits until they have changed.
 */
async function untilBuilt(
  build: () => Promise<GraphQLSchema>,
  catalogs: Pool,
  note: (error: Error | undefined) => void,
  log: (error: unknown) => void,
  signal: AbortSignal,
): Promise<GraphQLSchema> {
  let logged: string | undefined;
  let failedWith: string | undefined;
  for (;;) {
    try {
      const schema = await build();
      note(undefined);
      return schema;
    } catch (error) {
      // Whoever releases it ends its pool.
      if (signal.aborted) throw error;
      note(error as Error);
      const { message } = error as Error;
      if (message !== logged) log(error);
      logged = message;
      const isOfCatalogs = databaseFailure(error) === undefined;
      let state: string | undefined;
      do {
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
        signal.throwIfAborted();
        state = await catalogState(catalogs).catch(() => undefined);
      } while (isOfCatalogs && state !== undefined && state === failedWith);
      failedWith = state;
    }
  }
}

function waitFor(
  begun: Promise<{ built: Promise<unknown> }>,
  isUnbuildable: () => boolean,
): RequestHandler {
  let isBuilt = false;
  const ready = begun.then(async ({ built }) => {
    await built;
    isBuilt = true;
  });
  const failure = () => (isUnbuildable() ? new DatabaseNotReady() : new DatabaseUnreachable());
  // The caller of makeGraphql gets the error.
  ready.catch(() => undefined);
  return (_req, _res, next) => {
    if (isBuilt) {
      next();
      return;
    }
    if (isUnbuildable()) {
      next(failure());
      return;
    }
    const late = sleep(SCHEMA_WAIT_MS, undefined, { ref: false });
    void Promise.race([ready, late.then(failure)]).then(next, next);
  };
}
