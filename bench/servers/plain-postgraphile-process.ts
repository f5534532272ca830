// Runs the plain PostGraphile as a process; with SUBSCRIPTIONS=on, its subscriptions too.
import { makePool } from "../../db/connect.ts";
import { listenAndTell } from "./listen.ts";
import { listenNotifyPreset } from "./listen-notify.ts";
import { makePlainPostgraphile } from "./plain-postgraphile.ts";

// A count of millions of rows keeps all connections for seconds.
const WAIT_MS = 60_000;
const pool = makePool(process.env["DATABASE_URL"] ?? "", {
  role: "dex_reader",
  poolSize: 10,
  waitMs: WAIT_MS,
});
const preset = process.env["SUBSCRIPTIONS"] === "on" ? listenNotifyPreset : {};
const { server } = await makePlainPostgraphile(pool, preset);
listenAndTell(server);
