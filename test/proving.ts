// Plays random histories on databases of the test cluster, beside each other, and writes what came of it.
import { availableParallelism } from "node:os";
import fc from "fast-check";
import { readCommandLine, refuse } from "../db/command-line.ts";
import type { Client } from "../db/connect.ts";
import setUpCluster from "./cluster-setup.ts";
import tearDownCluster from "./cluster-teardown.ts";
import { makeDatabase, openClient } from "./database.ts";
import { inMinutes, outTo, writePage } from "./proof-page.ts";

interface Proof<History> {
  /** The command, and what its help says of it. */
  command: string;
  does: string;
  /** How many histories by default. */
  histories: number;
  history: fc.Arbitrary<History>;
  /** Throws where something differs. Resolves to the number of comparisons; `stranger` is the session of another writer. */
  play: (client: Client, stranger: Client, history: History) => Promise<number>;
  /** Where the result goes by default, and what it says after "N random histories were played, and". */
  result: string;
  compared: (times: string) => string;
}

export async function prove<History>(proof: Proof<History>): Promise<void> {
  const out = outTo(proof.result);
  const { values } = readCommandLine({
    usage: `Usage: ${proof.command} [options]

${proof.does}

  --histories N  how many, default ${proof.histories}
  --seed N       an integer; default another each time
  --minutes N    after which no further history is played
${out.help}
  --help         show this`,
    options: {
      histories: { type: "string", default: String(proof.histories) },
      seed: { type: "string", default: String(Date.now() % 2 ** 31) },
      minutes: { type: "string" },
      out: out.option,
    },
  });
  const wanted = Number(values.histories);
  const seed = Number(values.seed);
  const most = values.minutes === undefined ? undefined : Number(values.minutes);
  if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(seed)) {
    refuse("--histories and --seed are integers, --histories from 1");
  }
  if (most !== undefined && !(most > 0 && most < Infinity)) refuse("--minutes is a number above 0");

  let played = 0;
  let compared = 0;

  /** Each share has its own database. */
  const playShare = async (share: number, shareSeed: number): Promise<void> => {
    await using database = await makeDatabase();
    await using client = await openClient(database.url, { role: "dex_owner" });
    await using stranger = await openClient(database.url, { role: "dex_writer" });
    await fc.assert(
      fc.asyncProperty(proof.history, async (history) => {
        const times = await proof.play(client, stranger, history);
        compared += times;
        played += 1;
        if (played % 100 === 0) console.log(`${played} of ${wanted} histories`);
      }),
      {
        ...{ numRuns: share, seed: shareSeed },
        ...(most !== undefined && { interruptAfterTimeLimit: most * 60_000 }),
      },
    );
  };

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

  const limit = most === undefined ? "" : ` --minutes ${most}`;
  const result = `# What was proved

\`${proof.command} --histories ${wanted} --seed ${seed}${limit}\`, on ${new Date().toISOString().slice(0, 10)} with
Node ${process.version}, ${inMinutes(began)}: ${played.toLocaleString("en")} random histories were played, and
${proof.compared(compared.toLocaleString("en"))} No digit differed.
`;
  await writePage(values.out, result);
}
