// `npm run prove -- inputs`: gives the service 100,000 random inputs, or as many as it is told.
import { readCommandLine, refuse } from "../../db/command-line.ts";
import { simulateHistory } from "../../db/simulate/simulated-history.ts";
import setUpCluster from "../cluster-setup.ts";
import tearDownCluster from "../cluster-teardown.ts";
import { makeDatabase } from "../database.ts";
import { writeSection } from "../faults/reliability-page.ts";
import { fuzz } from "./run.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run prove -- inputs [options]

Gives the service random inputs of every kind.

  --inputs N  how many, default 100000
  --seed N    an integer, default 1
  --publish   write the result to docs/reliability.md
  --help      show this`,
  options: {
    inputs: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    publish: { type: "boolean", default: false },
  },
});
const inputs = Number(values.inputs);
const seed = Number(values.seed);
if (!Number.isSafeInteger(inputs) || inputs < 1 || !Number.isSafeInteger(seed)) {
  refuse("--inputs and --seed are integers, --inputs from 1");
}

await setUpCluster();
try {
  await using database = await makeDatabase();
  await simulateHistory(database.url, { seed: 1, days: 2, trades: 500 });
  const began = Date.now();
  const all = await fuzz(database, {
    inputs,
    seed,
    onProgress: (given) => given % 5000 === 0 && console.log(`${given} of ${inputs} inputs`),
  });
  const minutes = ((Date.now() - began) / 60_000).toFixed(1);
  const rows = all.map(({ kind, inputs: given, outcomes }) => {
    const told = [...outcomes]
      .sort(([, one], [, other]) => other - one)
      .map(([outcome, times]) => `${outcome}: ${times.toLocaleString("en")}`)
      .join(", ");
    return `| ${kind} | ${given.toLocaleString("en")} | ${told} |`;
  });
  const section = [
    `\`npm run prove -- inputs --inputs ${inputs} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with Node ${process.version}, in ${minutes} minutes. No 500, nothing that hung, no error with its insides, nothing logged as a fault:`,
    "",
    "| inputs | how many | what came of them |",
    "| --- | --: | --- |",
    ...rows,
  ].join("\n");
  console.log(section);
  if (values.publish) await writeSection("fuzz", section);
} finally {
  await tearDownCluster();
}
