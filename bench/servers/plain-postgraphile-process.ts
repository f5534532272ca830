// Runs the plain PostGraphile as a process.
import { makePool } from "../../db/connect.ts";
import { listenAndTell } from "./listen.ts";
import { makePlainPostgraphile } from "./plain-postgraphile.ts";

const pool = makePool(process.env["DATABASE_URL"] ?? "", { role: "dex_reader", poolSize: 10 });
const { server } = await makePlainPostgraphile(pool);
listenAndTell(server);
