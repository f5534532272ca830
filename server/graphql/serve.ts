// Puts GraphQL and GraphiQL into the Express application.
import type { Express } from "express";
import type { Server } from "node:http";
import { postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { makePreset, type PresetOptions } from "./preset.ts";

export interface GraphqlHandle {
  /** Lets go of what PostGraphile holds; the pool stays its owner's. */
  release(): Promise<void>;
}

/** Serves POST /graphql, and GraphiQL at /graphiql. The schema is read from the database first. */
export async function addGraphql(
  app: Express,
  server: Server,
  options: PresetOptions,
): Promise<GraphqlHandle> {
  const instance = postgraphile(makePreset(options));
  await instance.createServ(grafserv).addTo(app, server);
  await instance.getSchema();
  return {
    async release() {
      await instance.release();
    },
  };
}
