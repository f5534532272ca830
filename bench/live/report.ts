// The published results of event streams: each part is kept as JSON, and the page is made of all parts.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { median, percentile } from "../load/statistics.ts";
import type { Machine } from "../report/machine.ts";
import { table } from "../report/table.ts";
import type { BesideHostile, HostileSize } from "./hostile.ts";
import type { Contender, LiveSize, Measured } from "./measure.ts";

/** When, how and where a part was measured. */
interface Run {
  at: string;
  command: string;
  machine: Machine;
}

interface Summary {
  p50: number;
  p99: number;
  rate: number;
  memoryOfFollower: number;
  processorOfLine: number;
}

export interface Parts {
  followers: Run &
    Omit<LiveSize, "webSocketFollowers"> & { webSocketFollowers?: number } & Record<
      "service" | "bare",
      Summary
    > &
    // Results of before these were compared lack them.
    Partial<Record<Contender, Summary>>;
  hostile: Run & HostileSize & { kinds: BesideHostile[] };
}

export type Part = keyof Parts;

const FILES: Record<Part, string> = { followers: "results.json", hostile: "hostile.json" };

/** Without all the latencies, which would be megabytes. */
export const summaryOf = ({
  latencies,
  rates,
  memoryOfFollower,
  processorOfLine,
}: Measured): Summary => ({
  ...{ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), rate: median(rates) },
  ...{ memoryOfFollower, processorOfLine },
});

/** Keeps the part, and writes the page anew. */
export async function publish<Name extends Part>(
  folder: string,
  part: Name,
  results: Parts[Name],
): Promise<void> {
  await writeFile(join(folder, FILES[part]), `${JSON.stringify(results, null, 2)}\n`);
  const followers = await kept(folder, "followers");
  const hostile = await kept(folder, "hostile");
  const sections = [
    "# Event streams",
    ...(followers ? ofFollowers(followers) : []),
    ...(hostile ? ofHostile(hostile) : []),
  ];
  await writeFile(join(folder, "README.md"), `${sections.join("\n\n")}\n`);
}

async function kept<Name extends Part>(
  folder: string,
  part: Name,
): Promise<Parts[Name] | undefined> {
  const text = await readFile(join(folder, FILES[part]), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Parts[Name]);
}

const runLines = ({ at, command, machine }: Run, size: string): string =>
  [
    `- ${at}, by \`${command}\``,
    `- ${size}`,
    `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.system}; ` +
      "service, clients and database share them",
    `- the machine's load average of the 15 minutes before was ${machine.loadBefore}`,
    `- Node ${machine.node}, PostgreSQL ${machine.postgresql}`,
  ].join("\n");

function ofFollowers(results: Parts["followers"]): string[] {
  const { followers, webSocketFollowers, rounds, blocks, service, bare } = results;
  const { serviceWebSocket, plainPostgraphile } = results;
  const ratio = service.rate / bare.rate;
  const goals: [string, string, string, boolean][] = [
    ["commit to line, median", `${service.p50.toFixed(0)} ms`, "≤ 100 ms", service.p50 <= 100],
    ["commit to line, p99", `${service.p99.toFixed(0)} ms`, "≤ 500 ms", service.p99 <= 500],
    ["lines a second against bare node:http", `${ratio.toFixed(2)} ×`, "≥ 0.7 ×", ratio >= 0.7],
  ];
  return [
    "## Followers",
    runLines(
      results,
      `${followers} followers of one market by \`GET /v2/stream\`` +
        (webSocketFollowers === undefined
          ? ""
          : `, ${webSocketFollowers} by \`subscription { dexTrades }\``) +
        `; ${rounds} rounds of ${blocks} blocks`,
    ),
    table(
      ["goal", "value", "bound", ""],
      goals.map(([name, value, bound, isReached]) => [
        ...[name, value, bound, isReached ? "reached" : "**missed**"],
      ]),
    ),
    table(
      ["", "p50, ms", "p99, ms", "lines a second", "µs of processor a line", "kB a follower"],
      [
        ...rowOf("this service, event stream", service),
        ...rowOf("bare node:http, event stream", bare),
        ...rowOf("this service, WebSocket", serviceWebSocket),
        ...rowOf("plain PostGraphile, WebSocket", plainPostgraphile),
      ],
    ),
    "The bare server gets the bytes by a request; the service finds the commit by its poll every 50 ms, and reads " +
      "the rows. A rate is counted from the first line to the last; the median of all blocks.",
    ...(plainPostgraphile ? [OF_WEB_SOCKETS] : []),
  ];
}

const OF_WEB_SOCKETS =
  "By WebSocket each follower has a connection and a subscription of its own, and both servers get the same document. " +
  "While requests wait, the service gives all subscriptions a quarter of its event loop; plain PostGraphile has no " +
  "bound. It listens to the market's channel (`listen` with `pgSubscriber`, as in its manual): in its turn the " +
  "writer sends the ids of a block's trades by `pg_notify` in the block's transaction, and each follower's rows are read " +
  "by a statement of its own. The processor time is that of the server's process, without PostgreSQL. Memory is counted " +
  "when each follower has got an event, for all four.";

const rowOf = (name: string, of: Summary | undefined): string[][] =>
  of === undefined
    ? []
    : [
        [
          ...[name, of.p50.toFixed(0), of.p99.toFixed(0), Math.round(of.rate).toLocaleString("en")],
          ...[of.processorOfLine.toFixed(1), (of.memoryOfFollower / 1024).toFixed(1)],
        ],
      ];

function ofHostile(results: Parts["hostile"]): string[] {
  const { turns, seconds, kinds } = results;
  const megabytes = (kilobytes: number): string => (kilobytes / 1024).toFixed(0);
  return [
    "## Beside hostile clients",
    runLines(
      results,
      `a price from the database (\`CACHE=off\`), asked for without a pause on 2 connections; ${turns} turns of ` +
        `${seconds} s alone and ${seconds} s beside each kind of client; a block of 20 trades each second`,
    ),
    table(
      [
        ...["clients that", "connections", "streams", "opened", "refused", "price alone, ms"],
        ...["beside, ms", "ratio, aim ≤ 1.2", "beside those of a bare server, ms"],
        ...["ratio to it", "memory before, MB", "peak", "after"],
      ],
      kinds.map(({ kind, clients, streams, tally, alone, beside, besideBare, memory }) => [
        ...[kind, clients, streams, tally.opened, tally.refused].map(String),
        ...[alone.toFixed(2), beside.toFixed(2), (beside / alone).toFixed(2)],
        ...[besideBare.toFixed(2), (beside / besideBare).toFixed(2)],
        ...[memory.before, memory.peak, memory.after].map(megabytes),
      ]),
    ),
    "Medians. The clients are a process beside the service on the same processors. Beside those of a bare server: the " +
      "price is asked of the service while as many clients take as many bytes of a server that only writes them; so the " +
      "ratio to it is what the service does for its clients, without the time that these take from all processes. " +
      "Memory is what the service's process holds: before any of them came, at most, and when all were gone.",
  ];
}
