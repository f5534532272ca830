// `npm run bench -- mirror`: measures how far a mirror is behind its origin, which writes 20 blocks a second.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Exchange, type Shape } from "../../../bench/data/constant-exchange.ts";
import { callFor, fill, register } from "../../../bench/data/fill.ts";
import { makeDatabase, startNew } from "../../../bench/data/server.ts";
import {
  goal,
  goalsTable,
  log,
  publish,
  readOptions,
  runLines,
  runOf,
  table,
  whole,
} from "../../../bench/harness.ts";
import { median, percentile } from "../../../bench/load/statistics.ts";
import { PROGRAMS, startServer } from "../../../bench/servers/start.ts";
import { connect, type Client } from "../../../db/connect.ts";

const FOLLOW = fileURLToPath(new URL("../../../db/commands/follow.ts", import.meta.url));
const SHAPE: Shape = { trades: 5, offers: 4, cancellations: 2, seconds: 1 };
/** Blocks that are there before: more than a page. */
const HISTORY = 300;
const SPACING_MS = 50;
/** How often the mirror's head is read. */
const POLL_MS = 2;
const BOUND_MS = 300;

const { out, blocks } = readOptions(
  "bench -- mirror",
  "bench/results/mirror",
  "Measures the time from the commit of a block by the origin to its commit by `npm run follow`.",
  { blocks: ["how many, 20 a second", 1200, 20] },
);

const server = await startNew();
try {
  const run = await runOf("mirror", server.url);
  const lags = await measure();
  const ms = (value: number): string => `${whole(value)} ms`;
  await publish(out, [
    "# A mirror behind its origin",
    runLines(
      run,
      `${lags.length} blocks, one each ${SPACING_MS} ms, of ${SHAPE.trades} trades, ${SHAPE.offers} offers and ` +
        `${SHAPE.cancellations} cancellations; from the writer's commit in the origin's database until the mirror's database ` +
        `has the block, by \`npm run follow\` from a service as \`npm start\` starts it. Both databases are of one PostgreSQL.`,
    ),
    goalsTable([
      goal("p99", percentile(lags, 0.99), { atMost: BOUND_MS }, ms),
      goal("the longest", Math.max(...lags), { atMost: BOUND_MS }, ms),
    ]),
    table(
      ["", "median", "p90", "p99", "longest"],
      [
        [
          "milliseconds",
          ...[median(lags), percentile(lags, 0.9), percentile(lags, 0.99), Math.max(...lags)].map(
            whole,
          ),
        ],
      ],
    ),
  ]);
} finally {
  await server.stop();
}

async function measure(): Promise<number[]> {
  await using stack = new AsyncDisposableStack();
  const url = await makeDatabase(server, "dex_origin");
  const mirror = await makeDatabase(server, "dex_mirror");
  const writer = await connect(url, { role: "dex_writer" });
  const reader = await connect(mirror, { role: "dex_reader" });
  stack.defer(() => writer.end());
  stack.defer(() => reader.end());
  await register(writer);
  const exchange = new Exchange(1);
  await fill(writer, exchange, SHAPE, HISTORY);
  const service = await startServer(PROGRAMS.service, { DATABASE_URL: url });
  stack.defer(() => service.stop());
  const follower = spawn(process.execPath, [FOLLOW, service.url], {
    env: { ...process.env, DATABASE_OWNER_URL: mirror },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(follower, "exit");
  stack.defer(async () => {
    follower.kill();
    await ended;
  });
  while ((await headOf(reader)) < (await headOf(writer))) await sleep(SPACING_MS);
  log("The mirror has the history");

  const writtenAt = new Map<number, number>();
  const writing = write(writer, exchange, writtenAt);
  const lags: number[] = [];
  while (lags.length < blocks) {
    const head = await headOf(reader);
    const now = performance.now();
    for (const [number, at] of writtenAt) {
      if (number > head) continue;
      lags.push(now - at);
      writtenAt.delete(number);
    }
    await sleep(POLL_MS);
  }
  await writing;
  return lags;
}

async function write(
  writer: Client,
  exchange: Exchange,
  writtenAt: Map<number, number>,
): Promise<void> {
  let due = performance.now();
  for (let n = 0; n < blocks; n += 1) {
    const block = exchange.next(SHAPE);
    await sleep(Math.max(0, (due += SPACING_MS) - performance.now()));
    await writer.query(callFor(block));
    writtenAt.set(block.number, performance.now());
  }
}

async function headOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ head: number | null }>({
    name: "head",
    text: "select max(number) as head from dex_block",
  });
  return rows[0]?.head ?? -1;
}
