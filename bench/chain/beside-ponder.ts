// Measures a backfill by `npm run index` and by Ponder, as processes, in turns on the same recorded node and server.
import { spawn } from "node:child_process";
import { access, readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "../../db/connect.ts";
import { expectRows } from "./backfill.ts";
import type { Databases } from "./databases.ts";
import { FINAL_BLOCKS, startNodeProcess, type NodeProcess } from "./node-process.ts";
import type { BesidePonder, ChainSize } from "./results.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const INDEX_COMMAND = pathOf("../../chain/commands/index-chain.ts");
const PONDER_DIR = pathOf("ponder");
const PONDER_PACKAGE = join(PONDER_DIR, "node_modules/ponder");

export const INDEXER = "this indexer";
/** As a user has it: Ponder begins with 20 requests a second to a URL, and raises them slowly. */
export const PONDER = "Ponder, one URL";
/** The same node by so many URLs, each of which may have as many requests. */
const MANY = 25;
export const PONDER_MANY = `Ponder, ${MANY} URLs of the node`;
/** Into a new schema beside the first, with all that it has fetched. */
export const PONDER_CACHED = "Ponder again, from its cache of the node's answers";

/** Whether the package of bench/chain/ponder/ is installed. */
export const isPonderInstalled = (): Promise<boolean> =>
  access(PONDER_PACKAGE).then(
    () => true,
    () => false,
  );

export async function measureBesidePonder(
  databases: Databases,
  { events, blocks, rounds }: ChainSize,
  log: (line: string) => void,
): Promise<BesidePonder> {
  const { version } = JSON.parse(await readFile(join(PONDER_PACKAGE, "package.json"), "utf8")) as {
    version: string;
  };
  const node = await startNodeProcess({ events, blocks, head: blocks + FINAL_BLOCKS });
  const rates: BesidePonder["rates"] = {};
  const requests: BesidePonder["requests"] = {};
  const timed = async (name: string, run: () => Promise<number>): Promise<void> => {
    const before = await node.calls();
    const rate = events / (await run());
    (rates[name] ??= []).push(rate);
    requests[name] = difference(before, await node.calls());
    log(`  ${name}: ${rate.toFixed(0)} events/s`);
  };
  const turns = [
    () =>
      databases.with(async (url) => {
        await timed(INDEXER, () => runIndexCommand(url, node));
        await expectRows(url, node, { offer: "dex_offer", trade: "dex_trade" });
      }),
    () =>
      databases.with(
        async (url) => {
          await timed(PONDER_MANY, () => runPonder(node, { url, schema: "first", urls: MANY }));
          await expectRows(url, node, { offer: "first.offer", trade: "first.trade" });
          await timed(PONDER_CACHED, () => runPonder(node, { url, schema: "again", urls: MANY }));
          await expectRows(url, node, { offer: "again.offer", trade: "again.trade" });
        },
        { isEmpty: true },
      ),
    () =>
      databases.with(
        async (url) => {
          await timed(PONDER, () => runPonder(node, { url, schema: "first", urls: 1 }));
          await expectRows(url, node, { offer: "first.offer", trade: "first.trade" });
        },
        { isEmpty: true },
      ),
  ];
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
    }
  } finally {
    await node.stop();
  }
  return { version, events, blocks, rounds, rates, requests };
}

function difference(
  before: Record<string, number>,
  after: Record<string, number>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([method, count]) => [method, count - (before[method] ?? 0)] as const)
      .filter(([method, count]) => count > 0 && method.startsWith("eth_")),
  );
}

interface Child {
  /** Rejects where the process ends before it is stopped. */
  until<T>(done: Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

function startChild(program: string, args: string[], env: Record<string, string>): Child {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: PONDER_DIR,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (text: string): void => void (output = (output + text).slice(-4000));
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    until: (done) =>
      Promise.race([
        done,
        ended.then(() => {
          throw new Error(`${program} has ended: ${output}`);
        }),
      ]),
    async stop() {
      child.kill("SIGTERM");
      const forced = setTimeout(() => child.kill("SIGKILL"), 5000);
      await ended;
      clearTimeout(forced);
    },
  };
}

const POLL_MS = 10;

/** Seconds from the first question to the node, after the start of the program, until `isDone`. */
async function timeFrom(
  child: Child,
  isBegun: () => Promise<boolean>,
  isDone: () => Promise<boolean>,
) {
  const until = async (condition: () => Promise<boolean>): Promise<void> => {
    while (!(await condition())) await sleep(POLL_MS);
  };
  try {
    await child.until(until(isBegun));
    const began = performance.now();
    await child.until(until(isDone));
    return (performance.now() - began) / 1000;
  } finally {
    await child.stop();
  }
}

async function runIndexCommand(url: string, node: NodeProcess): Promise<number> {
  const { eth_chainId: before = 0 } = await node.calls();
  const client = await connect(url);
  try {
    const child = startChild(INDEX_COMMAND, [], {
      ...{ RPC_URL: node.url, EXCHANGE: node.exchange, FROM_BLOCK: String(node.firstBlock) },
      DATABASE_OWNER_URL: url,
    });
    return await timeFrom(
      child,
      async () => ((await node.calls())["eth_chainId"] ?? 0) > before,
      async () => {
        const { rows } = await client.query<{ number: number | null }>(
          "select max(number) as number from dex_block",
        );
        return (rows[0]?.number ?? -1) >= node.lastBlock;
      },
    );
  } finally {
    await client.end();
  }
}

interface PonderRun {
  url: string;
  schema: string;
  urls: number;
}

async function runPonder(node: NodeProcess, { url, schema, urls }: PonderRun): Promise<number> {
  const port = await freePort();
  const { eth_getBlockByNumber: before = 0 } = await node.calls();
  const child = startChild(
    join(PONDER_PACKAGE, "dist/esm/bin/ponder.js"),
    ["start", "--schema", schema, "--port", String(port), "--log-format", "json"],
    {
      RPC_URLS: Array.from({ length: urls }, (_, n) => `${node.url}/?${n}`).join(","),
      ...{ CHAIN_ID: String(node.chainId), EXCHANGE: node.exchange },
      ...{ FROM_BLOCK: String(node.firstBlock), TO_BLOCK: String(node.lastBlock) },
      ...{ DATABASE_URL: url, PONDER_TELEMETRY_DISABLED: "true" },
    },
  );
  return timeFrom(
    child,
    // It asks for the head when it is ready to begin.
    async () => ((await node.calls())["eth_getBlockByNumber"] ?? 0) > before,
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      await response?.arrayBuffer();
      return response?.status === 200;
    },
  );
}

/** Ponder does not say which port it has taken. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
