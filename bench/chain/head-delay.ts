// Measures the time from a new block of the node to the REST answer that has its trade.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { keccak256, toEventSelector, type Hex } from "viem";
import { log } from "../harness.ts";
import { PROGRAMS, startServer } from "../servers/start.ts";
import { startNodeProcess, type NodeProcess } from "./node-process.ts";
import type { RawLog } from "../../test/chain/recorded/recorded-chain.ts";

/** Blocks that are there at the start: the markets that the first one lists are final then. */
const HISTORY = 200;
const EVENTS_A_BLOCK = 30;
const SPACING_MS = 1000;
/** A block comes up to so much before or after its second, so that it meets each moment between two polls. */
const JITTER_MS = 100;
const POLL_MS = 4;
const PATH = "/v2/trades/weth/dai?limit=1";

const LOG_TAKE = toEventSelector(
  "LogTake(bytes32,bytes32,address,address,address,address,uint128,uint128,uint64)",
);

export interface Head {
  blocks: number;
  path: string;
  /** Milliseconds of each block that has a trade of the market. */
  latencies: number[];
}

export async function measureHead(blocks: number): Promise<Head> {
  await using stack = new AsyncDisposableStack();
  const length = HISTORY + blocks;
  const node = await startNodeProcess({
    ...{ events: length * EVENTS_A_BLOCK, blocks: length, head: HISTORY },
    ...{ firstTimestamp: Math.floor(Date.now() / 1000) - HISTORY, secondsApart: 1 },
  });
  stack.defer(() => node.stop());
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-head-"));
  await chmod(folder, 0o755);
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const service = await startServer(PROGRAMS.service, {
    ...{ RPC_URL: node.url, EXCHANGE: node.exchange, FROM_BLOCK: String(node.firstBlock) },
    ...{ DATA_DIR: join(folder, "data"), DATABASE_URL: "", RATE_LIMIT: "0" },
  });
  stack.defer(() => service.stop());
  const pairs = pairsOf(node);
  const lastTime = async (): Promise<string> => {
    const response = await fetch(service.url + PATH);
    const { data } = (await response.json()) as { data?: { time: string }[] };
    return data?.[0]?.time ?? "";
  };
  const served = async (time: string): Promise<number> => {
    while ((await lastTime()) < time) await sleep(POLL_MS);
    return performance.now();
  };
  const first = await timeOfTrade(node, pairs, node.firstBlock, HISTORY);
  if (first === undefined) throw new Error("no block has a trade of the market");
  await served(first);
  const latencies: number[] = [];
  let due = performance.now();
  for (let number = HISTORY + 1; number <= length; number += 1) {
    due += SPACING_MS;
    await sleep(Math.max(0, due - performance.now() + JITTER_MS * (2 * Math.random() - 1)));
    const came = performance.now();
    await node.setHead(number);
    const time = await timeOfTrade(node, pairs, number, number);
    if (time !== undefined) latencies.push((await served(time)) - came);
  }
  log(`  ${latencies.length} blocks with a trade of the market`);
  return { blocks, path: PATH, latencies };
}

/** The market's two pair hashes. */
function pairsOf({ tokens }: NodeProcess): Hex[] {
  const addressOf = (symbol: string): string =>
    tokens.find((token) => token.symbol === symbol)?.address.slice(2) ?? "";
  const [weth, dai] = [addressOf("WETH"), addressOf("DAI")];
  return [keccak256(`0x${weth}${dai}`), keccak256(`0x${dai}${weth}`)];
}

/** The time of the market's last trade in these blocks, as REST writes it; undefined where there is none. */
async function timeOfTrade(
  node: NodeProcess,
  pairs: Hex[],
  from: number,
  to: number,
): Promise<string | undefined> {
  const logs = await node.ask<RawLog[]>("eth_getLogs", {
    fromBlock: `0x${from.toString(16)}`,
    toBlock: `0x${to.toString(16)}`,
    address: node.exchange,
    topics: [LOG_TAKE, pairs],
  });
  const time = logs.at(-1)?.blockTimestamp;
  return time && new Date(Number(time) * 1000).toISOString();
}
