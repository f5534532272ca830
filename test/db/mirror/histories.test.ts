// Random histories: a mirror has the same digest at every block, and exports the same files, by whichever way it got them.
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { exportDays } from "../../../db/export/export-days.ts";
import { block } from "../../histories.ts";
import { loadable, written } from "../../written.ts";
import { digestsOf, useMirrored } from "./following.ts";

const QUIET = [21_600, 0, 21_600, 0, 0, 21_600].map((after, n) => ({
  ...{ after, higher: n === 4 ? 1200 : 1, hash: false },
  ...{ trades: [], offers: [], killed: [] },
}));

const mirrored = useMirrored(() => Promise.resolve());

async function filesOf(dir: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(dir)).sort()) {
    if (!/\.(gz|csv|parquet|json)$/.test(name)) continue;
    found[name] = createHash("sha256")
      .update(await readFile(join(dir, name)))
      .digest("hex");
  }
  return found;
}

async function emptyFolder(dir: string): Promise<void> {
  for (const name of await readdir(dir)) await rm(join(dir, name), { recursive: true });
}

async function expectTheSame(): Promise<void> {
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
  const dir = await mkdtemp(join(tmpdir(), "dex-mirrored-"));
  try {
    await exportDays({ url: mirrored.mirror.url, dir, finality: 0 });
    expect(await filesOf(dir)).toEqual(await filesOf(mirrored.dir));
  } finally {
    await rm(dir, { recursive: true });
  }
}

it("is the same by following in pieces, and by files and then following", async () => {
  const owner = await mirrored.origin.connect("dex_owner");
  const histories = fc.array(block, { minLength: 6, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const { blocks } = loadable(steps);
      const half = blocks.length >> 1;
      await mirrored.origin.empty();
      await mirrored.mirror.empty();
      await emptyFolder(mirrored.dir);
      await written["one by one"](owner, blocks.slice(0, half));
      await mirrored.catchUp();
      await written["one by one"](owner, blocks.slice(half));
      await mirrored.catchUp();
      await mirrored.export();
      await expectTheSame();

      await mirrored.mirror.empty();
      // Without a whole day there is no manifest.
      const isExported = (await readdir(mirrored.dir)).includes("manifest.json");
      const { last } = isExported ? await mirrored.load() : {};
      const head = blocks.at(-1)?.number;
      if (last === undefined || last.lastBlock !== head) await mirrored.catchUp();
      await expectTheSame();
    }),
    // First with blocks without rows alone, of which the origin keeps the newest and the mirror has others.
    { numRuns: 5, examples: [[QUIET]] },
  );
});
