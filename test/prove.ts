// `npm run prove`: plays random histories, by default 100,000, and writes the result to proved.md.
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { connect } from "../db/connect.ts";
import setUpCluster from "./cluster-setup.ts";
import tearDownCluster from "./cluster-teardown.ts";
import { makeDatabase } from "./database.ts";
import { history, playAndCompare } from "./histories.ts";

const RESULT = fileURLToPath(new URL("./proved.md", import.meta.url));

const { values } = readCommandLine({
  usage: `Usage: npm run prove -- [options]

Plays random histories, and compares every figure with a computation the long way.

  --histories N  how many, default 100000
  --seed N       an integer; default another each time
  --help         show this`,
  options: {
    histories: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});
const wanted = Number(values.histories);
const seed = Number(values.seed);
if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(seed)) {
  refuse("--histories and --seed are integers, --histories from 1");
}

let played = 0;
let compared = 0;

/** Each share has its own database. */
async function playShare(share: number, shareSeed: number): Promise<void> {
  const database = await makeDatabase();
  const client = await connect(database.url, { role: "dex_owner" });
  try {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const times = await playAndCompare(client, steps);
        compared += times;
        played += 1;
        if (played % 1000 === 0) console.log(`${played} of ${wanted} histories`);
      }),
      { numRuns: share, seed: shareSeed },
    );
  } finally {
    await client.end();
    await database.drop();
  }
}

const began = Date.now();
await setUpCluster();
try {
  const workers = Math.min(wanted, 2 * availableParallelism());
  await Promise.all(
    Array.from({ length: workers }, (_, i) =>
      playShare(Math.floor((wanted + i) / workers), seed + i),
    ),
  );
} finally {
  await tearDownCluster();
}

const minutes = ((Date.now() - began) / 60_000).toFixed(1);
const result = `# What was proved

\`npm run prove -- --histories ${wanted} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with
Node ${process.version}, in ${minutes} minutes: ${played.toLocaleString("en")} random histories were played, and all
figures of all markets compared ${compared.toLocaleString("en")} times with a computation the long way. No digit differed.
`;
await writeFile(RESULT, result);
console.log(result);
