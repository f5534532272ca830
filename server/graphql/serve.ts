// Puts GraphQL and GraphiQL into the Express application.
// First, since it is read when PostGraphile is loaded.
import "./production.ts";
import { Router, type Express, type RequestHandler } from "express";
import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import { grafserv } from "postgraphile/grafserv/express/v4";
import type { Pool } from "../../db/connect.ts";
import type { DatabaseGate } from "../http/database-gate.ts";
import { DatabaseUnreachable } from "../http/errors.ts";
import { noteRoute } from "../http/observe/observation.ts";
import { buildSchema, SchemaConflict } from "./build-schema.ts";
import { makePreset, type PresetOptions } from "./preset.ts";
import { catalogState, followCatalogs } from "./schema-watch.ts";

const RETRY_MS = 1000;

/** For how long a request waits for the schema. */
const SCHEMA_WAIT_MS = 5000;

/** Where GraphiQL hears of a changed schema. */
const STREAM = "/graphql/stream";

export interface GraphqlHandle {
  /** Ends the streams by which browsers hear of changes; what else was begun goes on. */
  endStreams: () => void;
  /** Lets go of what PostGraphile holds; the pool stays its owner's. */
  release: () => Promise<void>;
}

export interface WatchOptions {
  /** Tells the operator what has become of a change. */
  tell: (line: string) => void;
}

export interface GraphqlOptions extends PresetOptions {
  /** The schema is read by this, and the state of the catalogs that tells of its changes. */
  catalogs: Pool;
  /** The schema is read once this is open: a database that lacks migrations has another. */
  gate: DatabaseGate;
  /** What the rest of the service adds to PostGraphile. */
  plugins?: GraphileConfig.Plugin[];
  /** Shows what migrations change; without it, the schema is that of the start. */
  watch?: WatchOptions | undefined;
  /** Called when a new schema takes the place of the one before, at once. */
  onNewSchema?: () => void;
}

/**
 * Serves POST /graphql, and GraphiQL at /graphiql. The schema is read from the database meanwhile,
 * and again every second as long as that fails; what is asked before waits for it, 5 seconds at most.
 * Where it is watched, it is read again after every change, and replaced if it can be built.
 */
export async function addGraphql(
  app: Express,
  server: Server,
  {
    plugins = [],
    catalogs,
    gate,
    watch,
    onNewSchema = () => undefined,
    ...options
  }: GraphqlOptions,
): Promise<GraphqlHandle> {
  const released = new AbortController();
  const { pool, exposedSchemas = [], log } = options;
  // Made anew for each schema: what its plugins keep is of one schema.
  const presetOf = (schemas: readonly string[], asked: Pool): GraphileConfig.Preset => ({
    extends: [makePreset({ ...options, pool: asked, exposedSchemas: schemas })],
    plugins,
    grafserv: { watch: watch !== undefined, eventStreamPath: STREAM },
  });
  const build = (): Promise<GraphQLSchema> =>
    buildSchema({
      presetOf: (schemas) => presetOf(schemas, catalogs),
      exposedSchemas,
      db: catalogs,
    });
  // What its operator has asked for and cannot have stops the start.
  const atOnce =
    gate.obstacle === undefined && exposedSchemas.length > 0
      ? await build().catch(unlessConflict)
      : undefined;
  // The routes' place in the application; what is behind it comes when the gate opens.
  const router = Router();
  const streams = new Set<ServerResponse>();
  let instance: ReturnType<typeof grafserv> | undefined;
  let following: Promise<void> | undefined;

  const begin = async (): Promise<{ schema: Promise<unknown> }> => {
    await gate.opened;
    const { tell = () => undefined } = watch ?? {};
    const known = watch && (await catalogState(catalogs).catch(() => undefined));
    const schema =
      atOnce === undefined ? untilBuilt(build, log, released.signal) : Promise.resolve(atOnce);
    const serving = grafserv({ preset: presetOf(exposedSchemas, pool), schema });
    instance = serving;
    await serving.addTo(router as unknown as Express, server);

    const rebuild = async (): Promise<void> => {
      const changed = await build();
      onNewSchema();
      serving.setSchema(changed);
      tell("The database's schema has changed: GraphQL shows it as it is now.");
    };
    // It fails only when it is released before it could be built, and then nobody asks any more.
    const built = schema.catch(() => undefined);
    if (watch) {
      const { signal } = released;
      following = built.then(() =>
        followCatalogs({ db: catalogs, known, signal }, rebuild, (error) =>
          tell(
            `The database's schema has changed, and cannot be shown: ${(error as Error).message}. GraphQL stays as it was.`,
          ),
        ),
      );
    }
    return { schema: built };
  };
  if (watch) router.get(STREAM, noteRoute(STREAM), keepIn(streams));
  const begun = begin();
  app.use(["/graphql", "/graphiql"], gate.refuseUntilOpen, waitFor(begun));
  app.use(router);
  if (gate.obstacle === undefined) await begun;
  return {
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

/** Any other failure may pass, and is tried again. */
function unlessConflict(error: unknown): undefined {
  if (error instanceof SchemaConflict) throw error;
  return undefined;
}

/** Builds it, and again every second as long as that fails; of each reason `log` hears once. */
async function untilBuilt(
  build: () => Promise<GraphQLSchema>,
  log: (error: unknown) => void,
  signal: AbortSignal,
): Promise<GraphQLSchema> {
  let told: string | undefined;
  for (;;) {
    try {
      return await build();
    } catch (error) {
      const { message } = error as Error;
      if (message !== told) log(error);
      told = message;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw error;
    }
  }
}

/** A middleware that has the responses of a route known for as long as they last. */
function keepIn(streams: Set<ServerResponse>): RequestHandler {
  return (_req, res, next) => {
    streams.add(res);
    res.once("close", () => streams.delete(res));
    next();
  };
}

/** A middleware that keeps requests until there is a schema; those that wait too long are refused. */
function waitFor(begun: Promise<{ schema: Promise<unknown> }>): RequestHandler {
  let isThere = false;
  const there = begun.then(async ({ schema }) => {
    await schema;
    isThere = true;
  });
  // Whoever began it hears of it.
  there.catch(() => undefined);
  return (_req, _res, next) => {
    if (isThere) {
      next();
      return;
    }
    const late = sleep(SCHEMA_WAIT_MS, undefined, { ref: false });
    void Promise.race([there, late.then(() => new DatabaseUnreachable())]).then(next, next);
  };
}
