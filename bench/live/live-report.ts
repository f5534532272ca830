// Formats the results of `npm run bench -- live` as Markdown.
import { goal, goalsTable, runLines, table, whole, type Run } from "../harness.ts";
import { median, percentile } from "../load/statistics.ts";
import type { Contender, LiveSize, Measured } from "./measure-live.ts";

const NAMES: Record<Contender, string> = {
  service: "this service, event stream",
  bare: "bare node:http, event stream",
  serviceWebSocket: "this service, WebSocket",
  plainPostgraphile: "plain PostGraphile, WebSocket",
};

export function livePage(
  run: Run,
  { followers, webSocketFollowers, blocks, rounds }: LiveSize,
  measured: Record<Contender, Measured>,
): string[] {
  const milliseconds = (value: number): string => `${value.toFixed(0)} ms`;
  const { latencies, rates } = measured.service;
  const ratio = median(rates) / median(measured.bare.rates);
  return [
    "# Event streams",
    runLines(
      run,
      `${followers} followers of one market by \`GET /v2/stream\`, ${webSocketFollowers} by ` +
        `\`subscription { dexTrades }\`; ${rounds} rounds of ${blocks} blocks`,
    ),
    goalsTable([
      goal("commit to line, median", median(latencies), { atMost: 100 }, milliseconds),
      goal("commit to line, p99", percentile(latencies, 0.99), { atMost: 500 }, milliseconds),
      goal(
        "lines a second against bare node:http",
        ratio,
        { atLeast: 0.7 },
        (value) => `${value.toFixed(2)} ×`,
      ),
    ]),
    table(
      ["", "p50, ms", "p99, ms", "lines a second", "µs of processor a line", "kB a follower"],
      Object.entries(measured).map(([name, of]) => [
        NAMES[name as Contender],
        ...[median(of.latencies).toFixed(0), percentile(of.latencies, 0.99).toFixed(0)],
        ...[whole(median(of.rates)), of.processorOfLine.toFixed(1)],
        (of.memoryOfFollower / 1024).toFixed(1),
      ]),
    ),
    "The bare server gets the bytes by a request; the service finds the commit by its poll every 50 ms, and reads " +
      "the rows. A rate is counted from the first line to the last; the median of all blocks.",
    OF_WEB_SOCKETS,
  ];
}

const OF_WEB_SOCKETS =
  "By WebSocket both servers get the same document. While requests wait, the service gives all subscriptions a quarter " +
  "of its event loop; plain PostGraphile has no bound. The processor time is that of the server's process, without " +
  "PostgreSQL. Memory is counted when each follower has got an event, with what is not collected yet.";
