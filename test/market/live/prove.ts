// `npm run prove -- live`: plays random histories, by default 2,000, beside clients that follow each of them by the
// event stream and by subscriptions at once, and writes the result to proved.md.
import { availableParallelism } from "node:os";
import fc from "fast-check";
import { format } from "prettier";
import { readCommandLine, refuse } from "../../../db/command-line.ts";
import setUpCluster from "../../cluster-setup.ts";
import tearDownCluster from "../../cluster-teardown.ts";
import { makeDatabase } from "../../database.ts";
import { inMinutes, outTo, writePage } from "../../proof-page.ts";
import { readerOf, startReplicated } from "../../standby.ts";
import { liveHistory, Stage, type StageOptions } from "./live-histories.ts";
import { TRANSPORTS } from "./transports.ts";

const out = outTo("test/market/live/proved.md");

const { values } = readCommandLine({
  usage: `Usage: npm run prove -- live [options]

Plays random histories beside clients that follow each by the event stream and by subscriptions at once and come back as
they like, and compares each client's own copy with the tables after each event. A share of them has its second service
on a hot standby.

  --histories N  how many, default 2000
  --seed N       an integer; default another each time
${out.help}
  --help         show this`,
  options: {
    histories: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    out: out.option,
  },
});
const wanted = Number(values.histories);
const seed = Number(values.seed);
if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(seed)) {
  refuse("--histories and --seed are integers, --histories from 1");
}

/** Where a share is played: a database, or a server and its standby. */
type Place = StageOptions & { remove: () => Promise<void> };

async function oneDatabase(): Promise<Place> {
  const database = await makeDatabase();
  const { url, reader } = database;
  return { url, readers: [reader, reader], remove: () => database.drop() };
}

async function withStandby(): Promise<Place> {
  const servers = await startReplicated();
  const readers = [readerOf(servers.primary), readerOf(servers.standby)] as const;
  return {
    ...{ url: servers.primary, readers, untilSeen: servers.untilReplayed },
    async remove() {
      await Promise.all(readers.map((pool) => pool.end()));
      await servers.remove();
    },
  };
}

const stages: Stage[] = [];
let hasFailed = false;

async function playShare(share: number, shareSeed: number, place: Place): Promise<void> {
  const stage = await Stage.open(place);
  stages.push(stage);
  try {
    await fc.assert(
      fc.asyncProperty(liveHistory, async (history) => {
        if (hasFailed) return;
        await stage.play(history);
        const played = sumOf(({ histories }) => histories);
        if (played % 100 === 0) console.log(`${played} of ${wanted} histories`);
      }),
      { numRuns: share, seed: shareSeed, endOnFailure: true },
    );
  } catch (error) {
    hasFailed = true;
    console.error(error);
    throw error;
  } finally {
    await stage.close();
  }
}

const sumOf = (count: (stage: Stage) => number): number =>
  stages.reduce((sum, stage) => sum + count(stage), 0);

const began = Date.now();
const workers = Math.min(wanted, Math.max(2, availableParallelism()));
const sizes = Array.from({ length: workers }, (_, i) => Math.floor((wanted + i) / workers));
await setUpCluster();
try {
  // Each share has its own place; the last one has a standby.
  const shares = await Promise.allSettled(
    sizes.map(async (share, i) => {
      const place = await (i === workers - 1 ? withStandby() : oneDatabase());
      try {
        await playShare(share, seed + i, place);
      } finally {
        await place.remove();
      }
    }),
  );
  const failed = shares.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
} finally {
  await tearDownCluster();
}

const counted = (n: number): string => Math.round(n).toLocaleString("en");
const lines = (
  [
    ["clients or subscriptions that came back", "resumed"],
    ["events of reorganisations", "retractions"],
    ["resets", "resets"],
    ["streams closed and clients reset because they were too far behind", "behind"],
    ["pages", "pages"],
    ["comparisons of a copy with the tables", "compared"],
  ] as const
).map(([text, name]) => {
  const each = TRANSPORTS.map((one) => counted(sumOf(({ tallies }) => tallies.get(one)![name])));
  return `| ${text} | ${each.join(" | ")} |`;
});
const result = await format(
  `# What was proved of live data

\`npm run prove -- live --histories ${wanted} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with
Node ${process.version}: ${counted(sumOf(({ histories }) => histories))} random histories were played
${inMinutes(began)}, each beside four clients of the event stream and four of subscriptions, which
resumed on two services. ${counted(sizes.at(-1) ?? 0)} had the second service on a hot standby, and ${counted(sumOf(({ madeAnew }) => madeAnew))} times the
first one was closed and made anew. Each client followed up to five topics. Its own copy was compared with the tables
after each event of a whole head. No row differed.

| | event stream | subscriptions |
| - | -: | -: |
${lines.join("\n")}
`,
  { parser: "markdown" },
);
await writePage(values.out, result);
