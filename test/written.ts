// Writes the same facts in each way in which a database can get them.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../db/connect.ts";
import { readFolder } from "../db/load/folder.ts";
import { loadInTransaction } from "../db/load/write-rows.ts";
import type { Row } from "./brute-force.ts";
import { Exchange, stageBlocks, writeBlock, type Block, type BlockStep } from "./histories.ts";

/** A history that the loader's files can say too: without hashes unless asked for, with cancellations of recorded offers. */
export function loadable(
  steps: BlockStep[],
  { hash = false } = {},
): { exchange: Exchange; blocks: Block[] } {
  const exchange = new Exchange();
  const blocks: Block[] = [];
  const offered = new Set<number>();
  for (const step of steps) {
    for (const { offer } of step.offers) offered.add(offer);
    const killed = step.killed.filter((id) => offered.has(id));
    const made = exchange.next({ ...step, killed, hash }, blocks.at(-1), blocks);
    // A block that only cancels has no time in the files but that of the last one with an offer or a trade.
    if (made.offers.length + made.trades.length === 0) made.time = blocks.at(-1)?.time ?? made.time;
    blocks.push(made);
  }
  exchange.record(blocks);
  return { exchange, blocks };
}

const csvOf = (rows: Row[]): string => {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => columns.map((column) => row[column] ?? "").join(","));
  return [columns.join(","), ...lines, ""].join("\n");
};

async function loadFiles(owner: Client, { recording }: Exchange): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dex-digests-"));
  try {
    for (const [name, rows] of [
      ["offers", recording.offers],
      ["trades", recording.trades],
    ] as const) {
      if (rows.length > 0) await writeFile(join(folder, `${name}.csv`), csvOf(rows));
    }
    await loadInTransaction(owner, await readFolder(folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function writeAtOnce(owner: Client, blocks: Block[]): Promise<void> {
  await stageBlocks(owner, blocks);
  await owner.query("select ingest.write_blocks()");
}

/** Ways to write the same blocks. */
export const written = {
  "one by one": async (owner: Client, blocks: Block[]) => {
    for (const one of blocks) await writeBlock(owner, one);
  },
  "at once": writeAtOnce,
  "in pieces": async (owner: Client, blocks: Block[]) => {
    await writeAtOnce(owner, blocks.slice(0, 1));
    for (const one of blocks.slice(1, 3)) await writeBlock(owner, one);
    if (blocks.length > 3) await writeAtOnce(owner, blocks.slice(3));
  },
  "with reorganisations": async (owner: Client, blocks: Block[]) => {
    for (const [n, one] of blocks.entries()) {
      const before = blocks[n - 1]?.number ?? -1;
      await writeBlock(owner, { ...one, killed: [], offers: [], trades: one.trades.slice(1) });
      await owner.query("select ingest.take_back($1)", [before]);
      await writeBlock(owner, one);
    }
    await owner.query("select ingest.take_back($1)", [blocks[0]!.number]);
    if (blocks.length > 1) await writeAtOnce(owner, blocks.slice(1));
  },
  "from files": (owner: Client, _blocks: Block[], exchange: Exchange) => loadFiles(owner, exchange),
  "by other means": async (owner: Client, blocks: Block[]) => {
    await writeAtOnce(owner, blocks);
    await owner.query("update dex_block set digest = null");
    await owner.query("select ingest.rebuild()");
  },
} satisfies Record<string, (owner: Client, blocks: Block[], exchange: Exchange) => Promise<void>>;
