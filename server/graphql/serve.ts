// Puts GraphQL and GraphiQL into the Express application.
// First, since it is read when PostGraphile is loaded.
import "./production.ts";
import { Router, type Express, type RequestHandler } from "express";
import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/express/v4";
import type { DatabaseGate } from "../database-gate.ts";
import { DatabaseUnreachable } from "../errors.ts";
import { makePreset, type PresetOptions } from "./preset.ts";

const RETRY_MS = 1000;

/** For how long a request waits for the schema. */
const SCHEMA_WAIT_MS = 5000;

export interface GraphqlHandle {
  /** Lets go of what PostGraphile holds; the pool stays its owner's. */
  release: () => Promise<void>;
}

export interface GraphqlOptions extends PresetOptions {
  /** The schema is read once this is open: a database that lacks migrations has another. */
  gate: DatabaseGate;
  /** What the rest of the service adds to PostGraphile. */
  plugins?: GraphileConfig.Plugin[];
}

/**
 * Serves POST /graphql, and GraphiQL at /graphiql. The schema is read from the database meanwhile,
 * and again every second as long as that fails; what is asked before waits for it, 5 seconds at most.
 */
export async function addGraphql(
  app: Express,
  server: Server,
  { plugins = [], gate, ...options }: GraphqlOptions,
): Promise<GraphqlHandle> {
  const released = new AbortController();
  const preset: GraphileConfig.Preset = {
    extends: [makePreset(options)],
    plugins,
    schema: {
      retryOnInitFail: async () => {
        await sleep(RETRY_MS, undefined, { signal: released.signal }).catch(() => undefined);
        return !released.signal.aborted;
      },
    },
  };
  // The routes' place in the application; what is behind it comes when the gate opens.
  const router = Router();
  let instance: ReturnType<typeof postgraphile> | undefined;
  const begin = async (): Promise<{ schema: Promise<unknown> }> => {
    await gate.opened;
    instance = postgraphile(preset);
    // It fails only when it is released before it could be built, and then nobody asks any more.
    const schema = Promise.resolve(instance.getSchema()).catch(() => undefined);
    await instance.createServ(grafserv).addTo(router as unknown as Express, server);
    return { schema };
  };
  const begun = begin();
  app.use(["/graphql", "/graphiql"], gate.refuseUntilOpen, waitFor(begun));
  app.use(router);
  if (gate.obstacle === undefined) await begun;
  return {
    async release() {
      released.abort();
      await instance?.release();
    },
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
    void Promise.race([there, late.then(() => new DatabaseUnreachable())]).then(next);
  };
}
