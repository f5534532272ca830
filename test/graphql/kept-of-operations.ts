// A process that prints how many bytes of each operation are kept until a full garbage collection.
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { makePool } from "../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { makePreset } from "../../graphql/preset.ts";

const OPERATIONS = 200;

// As the service does.
setFlagsFromString("--no-allocation-site-pretenuring");
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { type: "minor" | "major" }) => void;

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")?.space_used_size ??
  NaN;

const pool = makePool(process.env["DATABASE_URL"] ?? "", { role: "dex_reader", poolSize: 1 });
const preset = makePreset({ pool, log: console.error, limits: GRAPHQL_LIMITS });
const { schema, resolvedPreset } = await makeSchema(preset);
const source = `query ($market: String!) {
  allDexTrades(first: 2, orderBy: BLOCK_DESC, condition: { market: $market }) { nodes { id price tx } }
}`;

async function execute(): Promise<void> {
  const variableValues = { market: "0x00" };
  const result = await grafast({
    ...{ schema, source, variableValues, resolvedPreset, requestContext: {} },
  });
  if ("errors" in result) throw new Error(JSON.stringify(result));
}

async function executeAll(): Promise<void> {
  for (let executed = 0; executed < OPERATIONS; executed += 1) {
    await execute();
    // Twice, because only the second leaves what survives among old objects.
    if (executed % 50 === 49) for (let n = 0; n < 2; n += 1) collect({ type: "minor" });
  }
}

await executeAll();
collect({ type: "major" });
const before = oldBytes();
await executeAll();
console.log((oldBytes() - before) / OPERATIONS);
await pool.end();
