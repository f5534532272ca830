// `npm run bench:limit`: what it costs a cache hit that Redis counts the requests of a client for all processes.
// The result is printed.
import { readCommandLine, refuse } from "../db/command-line.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { startService } from "./contenders.ts";
import { alternate } from "./load/alternate.ts";
import { askFor } from "./load/client.ts";

const REQUEST = { method: "GET", path: "/v2/prices/weth/dai" } as const;
const TRADES = 100_000;
const LOAD = { seconds: 0.5, rounds: 12, warmUp: 2 };

const { values } = readCommandLine({
  usage: `Usage: npm run bench:limit -- --redis URL

Measures answers from memory with and without RATE_LIMIT_REDIS_URL, in turns.

  --redis URL  a running Redis, such as redis://127.0.0.1:6379
  --help       show this`,
  options: { redis: { type: "string" } },
});
const url = values.redis ?? refuse("--redis is the URL of a running Redis");

const server = await openServer(process.env, console.log);
try {
  const databaseUrl = await makeData(server, TRADES, console.log);
  const services = [
    { contender: "each process for itself", service: await startService(databaseUrl, "on") },
    {
      contender: "with Redis",
      service: await startService(databaseUrl, "on", { RATE_LIMIT_REDIS_URL: url }),
    },
  ];
  for (const connections of [1, 16]) {
    console.log(`${connections} ${connections === 1 ? "connection" : "connections"}`);
    const entries = services.map(({ contender, service }) => ({
      case: REQUEST.path,
      contender,
      match: "limit",
      ask: (load: Parameters<typeof askFor>[2]) => askFor(service.url, REQUEST, load),
      processorTime: () => service.processorTime(),
    }));
    await alternate(entries, { ...LOAD, connections }, console.log);
  }
  await Promise.all(services.map(({ service }) => service.stop()));
} finally {
  await server.stop();
}
