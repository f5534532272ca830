// `npm run bench:live`: measures event streams and subscriptions. Results go to results/live/, or to --out.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { measureHostile } from "./live/hostile.ts";
import { measureLive } from "./live/measure.ts";
import { publish, summaryOf } from "./live/report.ts";
import { describeMachine } from "./report/machine.ts";
import { startNew } from "./write/server.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run bench:live -- [options]

Measures the time from a commit to each follower of an event stream, beside a bare node:http server that sends
the same bytes, and to each follower by WebSocket, beside plain PostGraphile's subscriptions; and with --hostile a
price of REST beside clients that never read, come and go, or ask for much, and beside such clients of a bare server.

  --hostile      measures beside hostile clients instead
  --followers N  connections that follow one market, from 1; default 10000
  --web-socket-followers N
                 of them by WebSocket, from 1; default as many as --followers
  --blocks N     blocks in a round, from 1; default 20
  --rounds N     how often what is compared alternates, from 1; default 3
  --seconds N    of a price alone, and beside each kind of hostile client, from 1; default 2
  --out DIR      where the results go, default bench/results/live
  --help         show this

It needs as many open files as followers: see \`ulimit -n\`.`,
  options: {
    hostile: { type: "boolean", default: false },
    followers: { type: "string", default: "10000" },
    "web-socket-followers": { type: "string" },
    blocks: { type: "string", default: "20" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "2" },
    out: { type: "string", default: fileURLToPath(new URL("results/live", import.meta.url)) },
  },
});
const counts = [
  ...[values.followers, values["web-socket-followers"] ?? values.followers],
  ...[values.blocks, values.rounds, values.seconds],
].map(Number) as [number, number, number, number, number];
const [followers, webSocketFollowers, blocks, rounds, seconds] = counts;
if (!counts.every((count) => Number.isInteger(count) && count >= 1)) {
  refuse(
    "--followers, --web-socket-followers, --blocks, --rounds and --seconds are integers from 1",
  );
}

const log = (line: string): void => console.log(line);
const server = await startNew(undefined);
try {
  const machine = await describeMachine(server.url);
  const given = process.argv.slice(2);
  const command = ["npm run bench:live", ...(given.length > 0 ? ["--", ...given] : [])].join(" ");
  const run = { at: new Date().toISOString(), command, machine };
  await mkdir(values.out, { recursive: true });
  if (values.hostile) {
    const size = { followers, turns: rounds, seconds };
    const kinds = await measureHostile(server, size, log);
    await publish(values.out, "hostile", { ...run, ...size, kinds });
  } else {
    const size = { followers, webSocketFollowers, blocks, rounds };
    const measured = await measureLive(server, size, log);
    const summaries = {
      ...{ service: summaryOf(measured.service), bare: summaryOf(measured.bare) },
      serviceWebSocket: summaryOf(measured.serviceWebSocket),
      plainPostgraphile: summaryOf(measured.plainPostgraphile),
    };
    await publish(values.out, "followers", { ...run, ...size, ...summaries });
  }
  log(`See ${values.out}`);
} finally {
  await server.stop();
}
