// `npm run bench -- live`: measures event streams and subscriptions.
import { startNew } from "./data/server.ts";
import { publish, runOf, readOptions } from "./harness.ts";
import { measureLive } from "./live/measure-live.ts";
import { livePage } from "./live/live-report.ts";

const { out, ...numbers } = readOptions(
  "bench -- live",
  "bench/results/live",
  `Measures the time from a commit to each follower of an event stream, beside a bare node:http server that sends
the same bytes, and to each follower by WebSocket, beside plain PostGraphile's subscriptions.
It needs as many open files as followers: see \`ulimit -n\`.`,
  {
    followers: ["connections that follow one market", 10_000, 1],
    "web-socket-followers": ["of them by WebSocket; 0 is as many as --followers", 0, 0],
    blocks: ["blocks in a round", 20, 1],
    rounds: ["how often what is compared alternates", 3, 1],
  },
);
const size = {
  ...numbers,
  webSocketFollowers: numbers["web-socket-followers"] || numbers.followers,
};

const server = await startNew();
try {
  const run = await runOf("live", server.url);
  const measured = await measureLive(server, size);
  await publish(out, livePage(run, size, measured));
} finally {
  await server.stop();
}
