// PostGraphile 5 as in its documentation, with the same two plugins and the same schema; as a process, with SUBSCRIPTIONS=on
// with its subscriptions.
import "../../graphql/production.ts";
import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import express from "express";
import { createServer, type Server } from "node:http";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import { makePool, type Pool } from "../../db/connect.ts";
import { listenAndTell } from "./listen-free.ts";
import { listenNotifyPreset } from "./listen-notify.ts";

/** Makes the server without listening. The caller closes the pool after `release`. */
export async function makePlainPostgraphile(
  pool: Pool,
  preset: GraphileConfig.Preset = {},
): Promise<{ server: Server; release: () => Promise<void> }> {
  const service = makePgService({ pool, schemas: ["public"] });
  const instance = postgraphile({
    extends: [
      makeV4Preset({ graphqlRoute: "/graphql" }),
      PgSimplifyInflectionPreset,
      PostGraphileConnectionFilterPreset,
      preset,
    ],
    pgServices: [service],
    schema: { pgSimplifyAllRows: false },
  });
  const app = express();
  const server = createServer(app);
  await instance.createServ(grafserv).addTo(app, server);
  return {
    server,
    release: async () => {
      await instance.release();
      // Gives the connection back that listens.
      await service.release?.();
    },
  };
}

if (import.meta.main) {
  // As by `pg` alone: a count of millions of rows, or the reads of all followers, keep others waiting for minutes.
  const bounds = { role: "dex_reader", poolSize: 10, waitMs: 0 } as const;
  const pool = makePool(process.env["DATABASE_URL"] ?? "", bounds);
  const preset = process.env["SUBSCRIPTIONS"] === "on" ? listenNotifyPreset : {};
  void makePlainPostgraphile(pool, preset).then(({ server }) => listenAndTell(server));
}
