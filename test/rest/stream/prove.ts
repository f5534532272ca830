// `npm run prove:live`: plays random histories beside clients that follow them by event streams and by subscriptions,
// by default 2,000 each, and writes the result to proved.md.
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { format } from "prettier";
import { readCommandLine, refuse } from "../../../db/command-line.ts";
import setUpCluster from "../../cluster-setup.ts";
import tearDownCluster from "../../cluster-teardown.ts";
import { makePool, type Pool } from "../../../db/connect.ts";
import { emptyExchange, makeDatabase } from "../../database.ts";
import {
  connectWriter,
  liveHistory,
  LiveServices,
  newTally,
  playAlone,
  playLive,
  type LiveHistory,
  type Tally,
} from "../../followers.ts";
import { startReplicated } from "../../standby.ts";
import { eventStreams } from "../../stream-follower.ts";
import { LIMITS_OF_HISTORIES, startStreams } from "../../stream-service.ts";
import { startSubscriptions, subscriptions, untilIdle } from "../../subscription-follower.ts";

const RESULT = fileURLToPath(new URL("./proved.md", import.meta.url));

const { values } = readCommandLine({
  usage: `Usage: npm run prove:live -- [options]

Plays random histories beside clients that follow the event stream or subscriptions and come back as they like, and
compares each client's own copy with the tables after each event. A share of them has its second service on a hot
standby.

  --histories N  how many of each, default 2000
  --seed N       an integer; default another each time
  --help         show this`,
  options: {
    histories: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});
const wanted = Number(values.histories);
const seed = Number(values.seed);
if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(seed)) {
  refuse("--histories and --seed are integers, --histories from 1");
}

/** Where a share is played: a database, or a server and its standby. */
interface Place {
  /** The writer's URL. */
  url: string;
  /** Of the two services. */
  readers: readonly [Pool, Pool];
  untilSeen: () => Promise<void>;
  remove: () => Promise<void>;
}

async function oneDatabase(): Promise<Place> {
  const database = await makeDatabase();
  const { url, reader } = database;
  return {
    url,
    readers: [reader, reader],
    untilSeen: () => Promise.resolve(),
    remove: () => database.drop(),
  };
}

async function withStandby(): Promise<Place> {
  const servers = await startReplicated();
  const poolOf = (url: string): Pool => makePool(url, { role: "dex_reader", poolSize: 5 });
  const readers = [poolOf(servers.primary), poolOf(servers.standby)] as const;
  return {
    url: servers.primary,
    readers,
    untilSeen: servers.untilReplayed,
    async remove() {
      await Promise.all(readers.map((pool) => pool.end()));
      await servers.remove();
    },
  };
}

type Play = (history: LiveHistory) => Promise<void>;

/** What plays a history after another in a place, and what ends it. */
type Player = (place: Place, tally: Tally) => Promise<{ play: Play; end: () => Promise<void> }>;

const byEventStream: Player = async ({ url, readers, untilSeen }, tally) => {
  const writer = await connectWriter(url);
  const [one, other] = readers;
  const makers = [
    () => startStreams(one, LIMITS_OF_HISTORIES),
    () => startStreams(other, LIMITS_OF_HISTORIES),
  ] as const;
  return {
    async play(history) {
      await emptyExchange(writer);
      await playAlone({ protocol: eventStreams, writer, makers, untilSeen, tally }, history);
    },
    end: () => writer.end(),
  };
};

const bySubscriptions: Player = async ({ url, readers, untilSeen }, tally) => {
  const writer = await connectWriter(url);
  const [one, other] = readers;
  const services = await LiveServices.start([
    () => startSubscriptions(one),
    () => startSubscriptions(other),
  ]);
  return {
    async play(history) {
      await Promise.all(readers.map(untilIdle));
      await emptyExchange(writer);
      await playLive({ protocol: subscriptions, writer, services, untilSeen, tally }, history);
    },
    async end() {
      await services.close();
      await writer.end();
    },
  };
};

let hasFailed = false;

async function playShare(
  player: Player,
  tally: Tally,
  { share, seed, place }: { share: number; seed: number; place: Place },
): Promise<void> {
  const { play, end } = await player(place, tally);
  try {
    await fc.assert(
      fc.asyncProperty(liveHistory, async (history) => {
        if (hasFailed) return;
        await play(history);
        if (tally.histories % 100 === 0) console.log(`${tally.histories} of ${wanted} histories`);
      }),
      { numRuns: share, seed, endOnFailure: true },
    );
  } catch (error) {
    hasFailed = true;
    console.error(error);
    throw error;
  } finally {
    await end();
  }
}

/** Each share has its own place; the last one has a standby. */
async function prove(player: Player): Promise<Tally & { minutes: number; onStandby: number }> {
  const tally = newTally();
  const began = Date.now();
  const workers = Math.min(wanted, Math.max(2, availableParallelism()));
  const sizes = Array.from({ length: workers }, (_, i) => Math.floor((wanted + i) / workers));
  const shares = await Promise.allSettled(
    sizes.map(async (share, i) => {
      const place = await (i === workers - 1 ? withStandby() : oneDatabase());
      try {
        await playShare(player, tally, { share, seed: seed + i, place });
      } finally {
        await place.remove();
      }
    }),
  );
  const failed = shares.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return { ...tally, minutes: (Date.now() - began) / 60_000, onStandby: sizes.at(-1) ?? 0 };
}

await setUpCluster();
let proved;
try {
  proved = [await prove(byEventStream), await prove(bySubscriptions)];
} finally {
  await tearDownCluster();
}

const counted = (n: number): string => Math.round(n).toLocaleString("en");
const lines = (
  [
    ["random histories", "histories"],
    ["of these with the second service on a hot standby", "onStandby"],
    ["clients or subscriptions that came back", "resumed"],
    ["services closed and made anew", "madeAnew"],
    ["events of reorganisations", "retractions"],
    ["resets", "resets"],
    ["pages", "pages"],
    ["comparisons of a copy with the tables", "compared"],
    ["minutes", "minutes"],
  ] as const
).map(([text, name]) => `| ${text} | ${proved.map((each) => counted(each[name])).join(" | ")} |`);
const result = await format(
  `# What was proved of live data

\`npm run prove:live -- --histories ${wanted} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with
Node ${process.version}: random histories were played beside four clients each, which resumed on two services. The
clients of subscriptions had up to five each: of the head, markets, trades, candles and books. Their own copies were
compared with the tables after each event of a whole head. No row differed.

| | event stream | subscriptions |
| - | -: | -: |
${lines.join("\n")}
`,
  { parser: "markdown" },
);
await writeFile(RESULT, result);
console.log(result);
