// Runs the steps of a schema change under load, and measures readers and writer during each step.
import { setTimeout } from "node:timers/promises";
import { post } from "../cases.ts";
import { BUSIEST } from "../data/constant-exchange.ts";
import { startService } from "../contenders.ts";
import { log } from "../harness.ts";
import { askOnce } from "../load/client.ts";
import type { BenchRequest } from "../load/wire-request.ts";
import { startWriter } from "../load/writer.ts";
import { watchLocks, type Waits } from "./lock-watch.ts";
import { startReaders, type Reading } from "./reading-clients.ts";
import { doStep, STEPS } from "./steps.ts";

export interface Phase extends Reading {
  /** `before`, a step's file, `after`. */
  name: string;
  seconds: number;
  /** Number of tries until the step got its lock. */
  tries: number;
  waits: Waits;
}

export interface Course {
  phases: Phase[];
  /** Number of trades that the writer wrote. */
  written: number;
  /** The answer of a service started after the change: the new column of a trade. */
  served: string;
}

const pair = `${BUSIEST.base}/${BUSIEST.quote}`.toLowerCase();

const graphql = (query: string): BenchRequest => post({ query });

const FIELDS = "id offerId market act maker taker lotTkn lotAmt bidTkn bidAmt price block time tx";

const REQUESTS: BenchRequest[] = [
  { method: "GET", path: "/v1/markets/" },
  { method: "GET", path: `/v1/prices/${pair}` },
  { method: "GET", path: "/v2/volumes" },
  { method: "GET", path: `/v2/trades/${pair}` },
  graphql(`{ allDexTrades(first: 100, orderBy: BLOCK_DESC) { nodes { ${FIELDS} } } }`),
  graphql(
    `{ allDexTrades(first: 100, orderBy: BLOCK_DESC, condition: { market: "${BUSIEST.market}" }) {
      totalCount nodes { ${FIELDS} offer { id filled } }
    } }`,
  ),
  graphql("{ allDexMarkets { nodes { pair price vol last bid ask } } }"),
];

/** Measures a schema change under load. The database keeps the change. */
export async function migrateUnderLoad(databaseUrl: string, seconds: number): Promise<Course> {
  await using stack = new AsyncDisposableStack();
  const service = await startService(databaseUrl, "off");
  stack.defer(() => service.stop());
  // Warm up: the first answers include planning and compilation.
  for (const request of REQUESTS) await askOnce(service.url, request);

  const writer = await startWriter(databaseUrl);
  const readers = startReaders(service.url, REQUESTS);
  const locks = await watchLocks(databaseUrl);
  const course: Course = { phases: [], written: 0, served: "" };
  const phase = async (name: string, act: () => Promise<number>): Promise<void> => {
    readers.take();
    locks.take();
    const began = performance.now();
    const tries = await act();
    const took = (performance.now() - began) / 1000;
    course.phases.push({ name, seconds: took, tries, ...readers.take(), waits: locks.take() });
    log(`  ${name}: ${took.toFixed(2)} s`);
  };
  const rest = async (): Promise<number> => {
    await setTimeout(seconds * 1000);
    return 1;
  };
  try {
    await phase("before", rest);
    for (const step of STEPS) await phase(step, () => doStep(databaseUrl, step));
    await phase("after", rest);
  } finally {
    await readers.stop();
    await locks.stop();
    course.written = await writer.stop();
  }
  course.served = await dayServed(databaseUrl);
  return course;
}

async function dayServed(databaseUrl: string): Promise<string> {
  const service = await startService(databaseUrl, "off");
  try {
    const query = "{ allDexTrades(first: 1, orderBy: BLOCK_DESC) { nodes { day } } }";
    return (await askOnce(service.url, graphql(query))).body;
  } finally {
    await service.stop();
  }
}
