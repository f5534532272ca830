// Random histories: a database has the same digest at every block, and exports the same files, by whichever way it was filled.
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import fc from "fast-check";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import type { Client } from "../../../db/connect.ts";
import { exportDays } from "../../../db/export/export-days.ts";
import { compareDigests } from "../../digests.ts";
import { aHash, anAddress, aTrade, registerPair, registerTokens } from "../../factories.ts";
import { block, writeBlock, type Block, type Exchange } from "../../histories.ts";
import { loadable, written } from "../../written.ts";
import { digestsOf, headOf, useMirrored } from "./following.ts";

const QUIET = [21_600, 0, 21_600, 0, 0, 21_600].map((after, n) => ({
  ...{ after, higher: n === 4 ? 1200 : 1, hash: false },
  ...{ trades: [], offers: [], killed: [] },
}));

/** All that the mirror has is taken back: the blocks before have no rows and are too old to be kept. */
const ALONE = QUIET.map((step, n) => ({ ...step, after: 0, higher: n === 3 ? 1200 : 1 }));

/** The first facts of the origin are taken back, and others come two blocks later. */
const LATE = [0, 0, 21_600, 0, 0, 21_540].map((after, n) => ({
  ...{ after, higher: 1, hash: false, offers: [], killed: [] },
  trades: n === 5 ? [{ base: "0", quote: "0", offer: 1 }] : [],
}));

const mirrored = useMirrored(() => Promise.resolve());
/** As the owner, who may do what each way needs. */
let origin: Client;
let mirror: Client;
beforeAll(async () => {
  origin = await mirrored.origin.connect();
  mirror = await mirrored.mirror.connect();
});

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

/** With a market, so that there are candles. */
async function register(client: Client): Promise<void> {
  const [one, other] = ["AAA", "BBB"].map((symbol) => ({ address: anAddress(symbol), symbol }));
  await registerTokens(client, one!, other!);
  await registerPair(client, one!.address, other!.address);
}

async function expectTheSame(): Promise<void> {
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
  await compareDigests(mirror);
  const dir = await mkdtemp(join(tmpdir(), "dex-mirrored-"));
  try {
    await exportDays({ url: mirrored.mirror.url, dir, finality: 0 });
    expect(await filesOf(dir)).toEqual(await filesOf(mirrored.dir));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Writes a part, and then the rest after another block that is taken back, while the mirror follows. */
async function followInPieces(blocks: Block[]): Promise<void> {
  const half = blocks.length >> 1;
  const [last, next] = [blocks[half - 1]!, blocks[half]!];
  await written["one by one"](origin, blocks.slice(0, half));
  await mirrored.catchUp();
  await writeBlock(origin, {
    ...{ ...next, hash: next.hash && aHash("another"), offers: [], killed: [] },
    trades: [
      aTrade({
        ...{ offer_id: null, block: next.number, time: new Date(next.time).toISOString() },
      }) as never,
    ],
  });
  await mirrored.catchUp();
  await origin.query("select ingest.take_back($1)", [last.number]);
  await written["one by one"](origin, blocks.slice(half));
  await mirrored.catchUp();
}

interface History {
  blocks: Block[];
  exchange: Exchange;
}

/** Fills the empty mirror, perhaps but for the last blocks. */
const WAYS: Record<string, (history: History) => Promise<unknown>> = {
  "the origin's files": async () => {
    // Without a whole day there is no manifest.
    if ((await readdir(mirrored.dir)).includes("manifest.json")) await mirrored.load();
  },
  "many blocks at once": async ({ blocks }) => {
    await register(mirror);
    await mirror.query("begin");
    await written["at once"](mirror, blocks);
    await mirror.query("commit");
  },
  "files of rows": async ({ blocks, exchange }) => {
    const { offers, trades } = exchange.recording;
    // They have no hashes.
    if (offers.length + trades.length === 0 || blocks[0]!.hash !== null) return;
    await register(mirror);
    await mirror.query("begin");
    await written["from files"](mirror, blocks, exchange);
    await mirror.query("commit");
  },
  "the rows of a dump": async () => {
    for (const name of ["token", "pair", "block", "offer", "trade"]) {
      const [out, into] = [`copy dex_${name} to stdout`, `copy dex_${name} from stdin`];
      await pipeline(origin.query(copyTo(out)), mirror.query(copyFrom(into)));
    }
    await mirror.query("select ingest.rebuild()");
  },
};

it("is the same by following across a reorganisation, by files, by loading and by restoring", async () => {
  const histories = fc
    .tuple(fc.array(block, { minLength: 6, maxLength: 12 }), fc.boolean())
    // Blocks without rows are dropped 1,000 blocks below the head, and so may be the parent of what is written again.
    .filter(([steps, hash]) => !hash || steps[steps.length >> 1]!.higher < 1000);
  await fc.assert(
    fc.asyncProperty(histories, async ([steps, hash]) => {
      const history = loadable(steps, { hash });
      await mirrored.origin.empty();
      await mirrored.mirror.empty();
      await emptyFolder(mirrored.dir);
      await register(origin);
      await followInPieces(history.blocks);
      await mirrored.export();
      await expectTheSame();
      for (const fill of Object.values(WAYS)) {
        await mirrored.mirror.empty();
        await fill(history);
        const head = await headOf(mirrored.mirror);
        if (head?.block !== history.blocks.at(-1)!.number) await mirrored.catchUp();
        await expectTheSame();
      }
    }),
    // First with blocks without rows alone, of which the origin keeps the newest and the mirror has others.
    { numRuns: 4, examples: [[[QUIET, false]], [[ALONE, false]], [[LATE, false]]] },
  );
});
