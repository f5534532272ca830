// Measures the time from a new block of the node to the REST answer that has all its rows.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PROGRAMS, startServer } from "../servers/start.ts";
import { startNodeProcess } from "./node-process.ts";

/** Blocks that are there at the start: the markets that the first one lists are final then. */
const HISTORY = 200;
const EVENTS_A_BLOCK = 30;
const SWAPS_A_BLOCK = 200;
const SPACING_MS = 1000;
/** A block comes up to so much before or after its second, so that it meets each moment between two polls. */
const JITTER_MS = 100;
const POLL_MS = 4;
const PATH = "/v2/blocks?from=";

export interface Head {
  blocks: number;
  events: number;
  path: string;
  /** Milliseconds of each block. */
  latencies: number[];
}

export async function measureHead(blocks: number, pools: number): Promise<Head> {
  await using stack = new AsyncDisposableStack();
  const length = HISTORY + blocks;
  const events = pools > 0 ? SWAPS_A_BLOCK : EVENTS_A_BLOCK;
  const node = await startNodeProcess({
    ...{ events: length * events, blocks: length, pools, head: HISTORY },
    ...{ firstTimestamp: Math.floor(Date.now() / 1000) - HISTORY, secondsApart: 1 },
  });
  stack.defer(() => node.stop());
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-head-"));
  await chmod(folder, 0o755);
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const service = await startServer(PROGRAMS.service, {
    ...{ RPC_URL: node.url, EXCHANGE: `${node.decoder.kind}:${node.exchange}`, TAKER: "event" },
    ...{ FROM_BLOCK: String(node.firstBlock), DATA_DIR: join(folder, "data"), DATABASE_URL: "" },
    ...{ RATE_LIMIT: "0", RPC_RATE: "100000" },
  });
  stack.defer(() => service.stop());
  const served = async (number: number): Promise<number> => {
    for (;;) {
      const response = await fetch(`${service.url}${PATH}${number}`);
      const { data } = (await response.json()) as { data?: { blocks: { number: number }[] } };
      if (data?.blocks.some((block) => block.number === number)) return performance.now();
      await sleep(POLL_MS);
    }
  };
  await served(HISTORY);
  const latencies: number[] = [];
  let due = performance.now();
  for (let number = HISTORY + 1; number <= length; number += 1) {
    due += SPACING_MS;
    await sleep(Math.max(0, due - performance.now() + JITTER_MS * (2 * Math.random() - 1)));
    const came = performance.now();
    await node.setHead(number);
    latencies.push((await served(number)) - came);
  }
  return { blocks, events, path: PATH, latencies };
}
