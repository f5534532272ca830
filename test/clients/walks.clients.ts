// The examples of GraphQL clients, run as their users would, against a service that is written to:
// each walks through 10,000 trades, many of which tie in the order that they are asked for.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { aTrade, GENESIS, registerMarkets, write, type TradeRow } from "../factories.ts";
import { useApp, useDatabase } from "../served.ts";
import { runFile, runScript, type Service } from "../service.ts";
import { makeRecorder, type Recorder } from "./recorder.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/graphql", import.meta.url));
const TRADES = 10_000;
const PAGE = 1000;
const TRADES_A_BLOCK = 5;

/** Five trades in a block, and four blocks in a second: blocks of one time are in the order of the chain. */
const tradeAt = (ordinal: number): TradeRow =>
  aTrade({
    block: Math.floor(ordinal / TRADES_A_BLOCK),
    time: new Date(GENESIS + Math.floor(ordinal / 20) * 1000).toISOString(),
    idx: ordinal % TRADES_A_BLOCK,
  });

const database = useDatabase();
const app = useApp(database);
let recorder: Recorder;
let written = 0;

/** Writes so many trades more, in whole blocks. */
async function writeMore(count: number): Promise<void> {
  const from = written;
  written += count;
  const trades = Array.from({ length: count }, (_, index) => tradeAt(from + index));
  await write(database.writer, { trades });
}

/** How many pages are still to be asked for while trades are written: a walk backwards has an end. */
let busyPages = 0;
const writeBeside = async (): Promise<void> => {
  if (busyPages === 0) return;
  busyPages -= 1;
  await writeMore(TRADES_A_BLOCK);
};

beforeAll(async () => {
  await registerMarkets(database.writer);
  await writeMore(TRADES);
  recorder = await makeRecorder(app.url, writeBeside);
  const built = await runScript("build", { GRAPHQL_URL: `${app.url}/graphql` }, EXAMPLES).ended;
  if (built.code !== 0) throw new Error(built.stdout + built.stderr);
});
afterAll(async () => {
  await recorder.close();
});

it("generates types without any, in which every custom scalar is a string", async () => {
  const generated = await Promise.all(
    ["schema.generated.ts", "apollo/trades.generated.ts", "urql/trades.generated.ts"].map((file) =>
      readFile(`${EXAMPLES}/${file}`, "utf8"),
    ),
  );
  for (const source of generated) {
    expect(source.replace(/\/\*.*?\*\//gs, "")).not.toMatch(/\bany\b/);
  }
  const [schema = ""] = generated;
  const scalars = [...schema.matchAll(/^ {2}(\w+): \{ input: (\w+); output: (\w+); \}$/gm)];
  const types = new Map(scalars.map(([, name, input, output]) => [name, [input, output]]));
  for (const name of ["BigFloat", "BigInt", "Cursor", "Datetime"]) {
    expect([name, types.get(name)]).toEqual([name, ["string", "string"]]);
  }
});

it("compiles the examples against what was generated", async () => {
  const checked = await runScript("types", {}, EXAMPLES).ended;
  expect(checked).toMatchObject({ code: 0 });
});

/** The ids of the trades that there are, in this order. */
async function idsInOrder(order: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ id: string }>(
    `select trade.id from dex_trade as trade order by ${order}`,
  );
  return rows.map(({ id }) => id);
}

let running: Service | undefined;
// A walk without end would outlive its test.
afterEach(() => running?.signal("SIGKILL"));

interface Walk {
  ids: string[];
  pages: string[][];
  blocks: { least: number; block: number }[];
  report: string;
}

/** Runs an example while trades are written: what it has printed, and what it was sent. */
async function walk(file: string, args: string[]): Promise<Walk> {
  busyPages = TRADES / PAGE + 1;
  running = runFile(file, { GRAPHQL_URL: recorder.url }, args, EXAMPLES);
  const { code, stdout, stderr } = await running.ended;
  if (code !== 0) throw new Error(stderr);
  const lines = stdout.trimEnd().split("\n");
  const ids = lines.map((line) => (JSON.parse(line) as { id: string }).id);
  return { ids, pages: recorder.takePages(), blocks: recorder.takeBlocks(), report: stderr };
}

const ORDERS = [
  { orderBy: ["BLOCK_DESC"], sql: "trade.block desc, trade.id desc" },
  { orderBy: ["TIME_DESC", "IDX_DESC"], sql: "trade.id desc" },
];

/** `isOnward`: it asks for no older block than its pages before had. */
const FORWARDS = [
  { client: "Apollo", file: "apollo/trades.ts", args: ["forwards"], isOnward: true },
  { client: "urql", file: "urql/trades.ts", args: [], isOnward: true },
  { client: "Relay", file: "relay/build/walk.js", args: [], isOnward: false },
];

function expectOnward(blocks: Walk["blocks"]): void {
  const seen = blocks.map((_, n) => Math.max(0, ...blocks.slice(0, n).map(({ block }) => block)));
  expect(blocks.map(({ least }) => least)).toEqual(seen);
  expect(blocks.at(-1)?.block).toBeGreaterThan(blocks[0]?.block ?? NaN);
}

/** Every trade that was there before, and others only in their places; none twice. */
async function expectWalked(ids: string[], before: string[], sql: string): Promise<void> {
  const walked = new Set(ids);
  expect(walked.size).toBe(ids.length);
  const existed = new Set(before);
  expect(ids.filter((id) => existed.has(id))).toEqual(before);
  const inOrder = await idsInOrder(sql);
  expect(ids).toEqual(inOrder.filter((id) => walked.has(id)));
  expect(inOrder.length).toBeGreaterThan(before.length);
}

describe.each(ORDERS)("by $orderBy, with a writer beside it", ({ orderBy, sql }) => {
  it.each(FORWARDS)("$client walks forwards, and misses and repeats none", async (example) => {
    const before = await idsInOrder(sql);
    const { ids, pages, blocks, report } = await walk(example.file, [...example.args, ...orderBy]);

    await expectWalked(ids, before, sql);
    // The service sent the same, each once: nothing was left for the client's cache to take out.
    expect(pages.flat()).toEqual(ids);
    expect(pages).toHaveLength(Math.ceil(ids.length / PAGE));
    expect(report).toMatch(`${ids.length} trades in ${pages.length} pages`);
    if (example.isOnward) expectOnward(blocks);
  });

  it("Apollo walks backwards to the newest, and misses and repeats none", async () => {
    const before = await idsInOrder(sql);
    const { ids, pages, report } = await walk("apollo/trades.ts", ["backwards", ...orderBy]);

    await expectWalked(ids, before, sql);
    // Those that came while it walked are in front.
    expect(ids.length).toBeGreaterThan(before.length);
    expect(pages.toReversed().flat()).toEqual(ids);
    expect(report).toMatch(`${ids.length} trades in ${pages.length} pages`);
  });
});
