// Puts GraphQL and GraphiQL into the Express application.
// First, since it is read when PostGraphile is loaded.
import "./production.ts";
import type { Express } from "express";
import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { makePreset, type PresetOptions } from "./preset.ts";

const RETRY_MS = 1000;

export interface GraphqlHandle {
  /** Lets go of what PostGraphile holds; the pool stays its owner's. */
  release: () => Promise<void>;
}

export interface GraphqlOptions extends PresetOptions {
  /** What the rest of the service adds to PostGraphile. */
  plugins?: GraphileConfig.Plugin[];
}

/**
 * Serves POST /graphql, and GraphiQL at /graphiql. The schema is read from the database meanwhile,
 * and again every second as long as that fails; what is asked before waits for it.
 */
export async function addGraphql(
  app: Express,
  server: Server,
  { plugins = [], ...options }: GraphqlOptions,
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
  const instance = postgraphile(preset);
  // It fails only when it is released before it could be built, and then nobody asks any more.
  Promise.resolve(instance.getSchema()).catch(() => undefined);
  await instance.createServ(grafserv).addTo(app, server);
  return {
    async release() {
      released.abort();
      await instance.release();
    },
  };
}
