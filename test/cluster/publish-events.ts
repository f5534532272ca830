// Says what came of the events, and writes it into docs/reliability.md where WRITE_RELIABILITY is set.
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { writeSection } from "../faults/reliability-page.ts";
import { readRecorded, type Outcome } from "./outcomes.ts";
import { MISSING } from "./programs.ts";

const grouped = (n: number): string => Math.round(n).toLocaleString("en");

function row({ event, clients, followers, writer, recoveredMs }: Outcome): string {
  const cells = [
    event,
    grouped(clients.answers),
    grouped(clients.wrong.length),
    grouped(clients.wentBack.length),
    grouped(clients.unavailable),
    grouped(clients.brokenOff.length),
    grouped(clients.other.length),
    grouped(clients.longestWaitMs),
    `${grouped(writer.blocks)} (${writer.reorganisations})`,
    grouped(writer.longestGapMs),
    grouped(followers.events),
    grouped(followers.resumed),
    grouped(followers.resets),
    grouped(recoveredMs),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The sums of the columns that have one, and the greatest of the others. */
function total(outcomes: Outcome[]): Outcome {
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((all, outcome) => all + of(outcome), 0);
  const most = (of: (outcome: Outcome) => number): number => Math.max(0, ...outcomes.map(of));
  return {
    event: "all",
    clients: {
      answers: sum(({ clients }) => clients.answers),
      unavailable: sum(({ clients }) => clients.unavailable),
      brokenOff: outcomes.flatMap(({ clients }) => clients.brokenOff),
      wentBack: outcomes.flatMap(({ clients }) => clients.wentBack),
      wrong: outcomes.flatMap(({ clients }) => clients.wrong),
      other: outcomes.flatMap(({ clients }) => clients.other),
      longestWaitMs: most(({ clients }) => clients.longestWaitMs),
    },
    followers: {
      events: sum(({ followers }) => followers.events),
      resumed: sum(({ followers }) => followers.resumed),
      resets: sum(({ followers }) => followers.resets),
    },
    writer: {
      blocks: sum(({ writer }) => writer.blocks),
      reorganisations: sum(({ writer }) => writer.reorganisations),
      longestGapMs: most(({ writer }) => writer.longestGapMs),
    },
    recoveredMs: most(({ recoveredMs }) => recoveredMs),
  };
}

export default async function publishEvents(): Promise<void> {
  if (MISSING.length > 0) {
    console.log(`\nNOT TESTED: the cluster takes apt-get install ${MISSING.join(" ")}.\n`);
    return;
  }
  const recorded = await readRecorded();
  const outcomes = recorded.flatMap(({ outcome }) => outcome ?? []);
  const [cost] = recorded.flatMap((one) => one.cost ?? []);
  const section = [
    `On ${new Date().toISOString().slice(0, 10)} with Node ${process.version}, ${availableParallelism()} processors:`,
    "",
    "| event | 200 | wrong | went back | 503 | broken off | other | longest without 200, ms | blocks (reorganisations) | longest without a block, ms | events of streams | resumed | reset | all in use again after, ms |",
    `|---|${" --: |".repeat(13)}`,
    ...outcomes.map(row),
    row(total(outcomes)),
    ...(cost === undefined
      ? []
      : [
          "",
          `A commit that waits for a standby takes ${cost.waiting.toFixed(2)} ms here, one that does not ${cost.notWaiting.toFixed(2)} ms: the medians of 300, with \`fsync = off\` and no network between. Elsewhere it is a round trip to the standby, and its replay.`,
        ]),
  ].join("\n");
  console.log(`\n${section}\n`);
  if (process.env["WRITE_RELIABILITY"] !== undefined) await writeSection("cluster", section);
  await rm(dirname(process.env["FAULTS_OUTCOMES"] ?? ""), { recursive: true, force: true });
}
