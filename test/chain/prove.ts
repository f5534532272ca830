// `npm run prove -- chain`: plays random histories of a chain, by default 1,000, and writes the result to proved.md.
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import fc from "fast-check";
import { readCommandLine, refuse } from "../../db/command-line.ts";
import setUpCluster from "../cluster-setup.ts";
import tearDownCluster from "../cluster-teardown.ts";
import { inMinutes, outTo, writePage } from "../proof-page.ts";
import { startChain } from "./chain.ts";
import { history, Stage, type Played } from "./histories.ts";
import { LONG, playKind } from "./kind-histories.ts";
import { deployTempo } from "./random-tempo.ts";
import { deployV2 } from "./random-v2.ts";
import { deployV3 } from "./random-v3.ts";

const out = outTo("test/chain/proved.md");

const { values } = readCommandLine({
  usage: `Usage: npm run prove -- chain [options]

Plays random histories of a chain while an indexer follows it, and compares every row with a new database, and every
figure of the views and of REST with a computation by brute force.

  --histories N  how many of matching-market, default 1000
  --of-kinds N   how many of each of uniswap-v2, uniswap-v3 and tempo, with an indexer that is killed by SIGKILL, default 20
  --seed N       an integer; default another each time
${out.help}
  --help         show this`,
  options: {
    histories: { type: "string", default: "1000" },
    "of-kinds": { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    out: out.option,
  },
});
const wanted = Number(values.histories);
const ofKinds = Number(values["of-kinds"]);
const seed = Number(values.seed);
if (![wanted, ofKinds, seed].every(Number.isSafeInteger) || wanted < 1 || ofKinds < 0) {
  refuse("--histories, --of-kinds and --seed are integers, --histories from 1, --of-kinds from 0");
}

const total = {
  histories: 0,
  reorganisations: 0,
  kills: 0,
  corrections: 0,
  wrongBlooms: 0,
  halts: 0,
  rows: 0,
  answers: 0,
};
const began = Date.now();

/** Each share has its own chain and databases. */
async function playShare(share: number, shareSeed: number): Promise<void> {
  const stage = await Stage.make();
  try {
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        const played = await stage.play(one);
        total.histories += 1;
        for (const [what, count] of Object.entries(played) as [keyof Played, number][]) {
          total[what] += count;
        }
        if (total.histories % 50 === 0) {
          const seconds = Math.round((Date.now() - began) / 1000);
          console.log(`${total.histories} of ${wanted} histories in ${seconds} s`);
        }
      }),
      { numRuns: share, seed: shareSeed, endOnFailure: true },
    );
  } finally {
    await stage.close();
  }
}

const playedKinds = { histories: 0, reorganisations: 0, kills: 0, trades: 0 };

/** Each kind has its chain, on which its histories follow one another. */
async function playKinds(): Promise<void> {
  for (const deploy of [deployV2, deployV3, deployTempo]) {
    const chain = await startChain({ start: new Date("2026-03-01T11:00:00Z") });
    try {
      const kind = await deploy(chain);
      for (let n = 0; n < ofKinds; n += 1) {
        const { reorganisations, kills, trades } = await playKind(chain, kind, {
          ...{ seed: seed + n, ...LONG },
        });
        playedKinds.histories += 1;
        playedKinds.reorganisations += reorganisations;
        playedKinds.kills += kills;
        playedKinds.trades += trades;
      }
    } finally {
      await chain.stop();
    }
  }
}

await setUpCluster();
try {
  const workers = Math.min(wanted, availableParallelism());
  await Promise.all(
    Array.from({ length: workers }, (_, i) =>
      playShare(Math.floor((wanted + i) / workers), seed + i),
    ),
  );
  await playKinds();
} finally {
  await tearDownCluster();
}

const hardhat = JSON.parse(
  await readFile(new URL("hardhat/node_modules/hardhat/package.json", import.meta.url), "utf8"),
) as { version: string };
const counted = (n: number): string => n.toLocaleString("en");
const result = `# What was proved of the indexer

\`npm run prove -- chain --histories ${wanted} --of-kinds ${ofKinds} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with
Node ${process.version} and Hardhat ${hardhat.version}, ${inMinutes(began)}: ${counted(total.histories)} random histories were played on a
chain, with ${counted(total.reorganisations)} reorganisations, and with the indexer stopped at once ${counted(total.kills)} times. ${counted(total.corrections)} times a
database was filled with a wrong contract, first block or taker: the right one was refused, until all blocks were taken
back. ${counted(total.wrongBlooms)} headers had a wrong bloom, of a node alone or beside an honest one; ${counted(total.halts)} times the indexer
stopped for them with a message, and went on with a node that was mended. All
${counted(total.rows)} offers, trades and cancellations were as in a database that was indexed from the final chain. No figure of a
market differed from a computation by brute force, neither in the views nor in ${counted(total.answers)} answers of REST.

Beside these, ${counted(playedKinds.histories)} histories of Uniswap's v2 and v3 contracts and of a book with the rules of Tempo's were played, with
${counted(playedKinds.reorganisations)} reorganisations of up to 20 blocks, and with the indexer, a process, killed by SIGKILL ${counted(playedKinds.kills)} times. All
${counted(playedKinds.trades)} trades were those of the receipts, all rows those of a database that was indexed afresh, reserves, prices, ticks, levels
and open orders those of the contracts, and all figures of markets those of a computation by brute force.
`;
await writePage(values.out, result);
