// Formats the results of `npm run bench -- live` as Markdown.
import { goal, goalsTable, runLines, table, whole, type Run } from "../harness.ts";
import { median, percentile } from "../load/statistics.ts";
import type { Contender, LiveSize, Measured, Results } from "./measure-live.ts";

const NAMES: Record<Contender, string> = {
  service: "this service, event stream",
  bare: "bare node:http, event stream",
  serviceWebSocket: "this service, WebSocket",
  plainPostgraphile: "plain PostGraphile, WebSocket",
};

export function livePage(
  run: Run,
  { followers, webSocketFollowers, blocks, rounds }: LiveSize,
  { repeated, ...measured }: Results,
): string[] {
  const { service, bare, serviceWebSocket: socket, plainPostgraphile: plain } = measured;
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  const times = (value: number): string => `${value.toFixed(2)} ×`;
  const kB = (value: number): string => `${(value / 1024).toFixed(1)} kB`;
  const over = (one: Measured, other: Measured): number => median(one.rates) / median(other.rates);
  return [
    "# Event streams",
    runLines(
      run,
      `${followers} followers of one market by \`GET /v2/stream\`, ${webSocketFollowers} by ` +
        `\`subscription { dexTrades }\`; ${rounds} rounds of ${blocks} blocks`,
    ),
    goalsTable([
      goal("commit to line, median", median(service.latencies), { atMost: 100 }, ms),
      goal("commit to line, p99", percentile(service.latencies, 0.99), { atMost: 500 }, ms),
      goal("lines a second against bare node:http", over(service, bare), { atLeast: 0.7 }, times),
      goal("WebSocket, median", median(socket.latencies), { atMost: 150 }, ms),
      goal("WebSocket, p99", percentile(socket.latencies, 0.99), { atMost: 500 }, ms),
      goal("its µs of processor a message", socket.processorOfLine, { atMost: 20 }, whole),
      goal("its messages a second against plain", over(socket, plain), { atLeast: 20 }, times),
      goal("memory of a follower, event stream", service.memoryOfFollower, { atMost: 15_360 }, kB),
      goal("memory of a follower, WebSocket", socket.memoryOfFollower, { atMost: 30_720 }, kB),
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
    "By WebSocket both servers get the same document. While requests wait, the service gives all subscriptions a quarter " +
      "of its event loop; plain PostGraphile has no bound. The processor time is that of the server's process, without " +
      "PostgreSQL. Memory is counted when each follower has got an event, with what is not collected yet. Turns that " +
      `began again, because a follower had lost its stream: ${repeated}.`,
  ];
}
