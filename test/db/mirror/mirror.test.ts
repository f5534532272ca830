// A mirror gets the facts of another service, whole and checked, from its files and by following it.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { readManifest, writeManifest } from "../../../db/export/manifest.ts";
import type { BlockPage } from "../../../db/mirror/block-page.ts";
import { register } from "../../../db/mirror/origin-registry.ts";
import { writeOneByOne } from "../../../db/mirror/write-facts.ts";
import { verify } from "../../../db/verify/verify-database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  WETH,
  write,
} from "../../factories.ts";
import type { TestDatabase } from "../../database.ts";
import { digestsOf, figuresOf, headOf, useMirrored } from "./following.ts";

const BOOK = anAddress("book");
const POOL = anAddress("pool");
const ORDER = 2 ** 30;
const REF = '7,"\u2028é';
const HUGE = "123456789012345678901.000000000000000001";

const NETS = [
  "-60:5000000000000000000 60:-5000000000000000000",
  "60:2000000000000000000:12000000000000000000 120:-7000000000000000000",
];
/** With liquidity in ranges: at a price of 1, and then in the range above. */
const RANGED = { venue: anAddress("ranges"), gem0: WETH, gem1: DAI, fee: 500, tick_spacing: 60 };
const STATES = [
  { sqrt_price: String(2n ** 96n), tick: 0, liquidity: "5000000000000000000", nets: NETS[0] },
  { sqrt_price: String(2n ** 96n), tick: 60, liquidity: "7000000000000000000", nets: NETS[1] },
];

const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  for (const [n, state] of STATES.entries()) {
    const hour = 0.5 + n / 10;
    await writer.query("select ingest.write_block($1, $2, pools => $3)", [
      ...[blockAt(hour), hours(hour), JSON.stringify([{ ...RANGED, ...state }])],
    ]);
  }
  await writer.query("select ingest.offer_ids($1, $2, $3)", [
    ...[
      [BOOK, BOOK],
      [REF, "8"],
      [blockAt(2), blockAt(2)],
    ],
  ]);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 1, base: "3", quote: "300", killed: blockAt(50) }),
      anOffer({ id: 2, hour: 1, base: "1", quote: HUGE }),
      anOffer({ id: 3, hour: 1.5, killed: blockAt(1.5) }),
      anOffer({ id: 10, hour: 1, base: "2", quote: "9", filled: true }),
      anOffer({ id: ORDER + 1, hour: 2.5, venue: BOOK, base: "5", quote: "600" }),
    ],
    trades: [
      aTrade({ hour: 2, offer_id: ORDER, base: "1", quote: "110", venue: BOOK, idx: 3 }),
      aTrade({ hour: 2, offer_id: null, base: "2.5", quote: "250", idx: 11 }),
      aTrade({ hour: 2.01, offer_id: 2, base: "1", quote: HUGE, idx: 0 }),
      aTrade({ hour: 49, offer_id: 1, base: "1", quote: "99" }),
      aTrade({ hour: 49, offer_id: ORDER + 1, base: "2", quote: "240", venue: BOOK }),
      aTrade({ hour: 72, offer_id: 5 }),
    ],
    head: 73,
  });
  await writer.query("select ingest.write_block($1, $2, pools => $3)", [
    blockAt(74),
    new Date(Date.parse("2026-01-04T02:00:00Z")).toISOString(),
    JSON.stringify([
      { venue: POOL, gem0: WETH, gem1: DAI, reserve0: "10", reserve1: "1000.5", fee: 3000 },
    ]),
  ]);
});

beforeEach(() => mirrored.mirror.empty());

async function expectTheSame(): Promise<void> {
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
  expect(await figuresOf(mirrored.mirror)).toEqual(await figuresOf(mirrored.origin));
  expect(await headOf(mirrored.mirror)).toEqual(await headOf(mirrored.origin));
}

it("loads the days of the files, and follows from there: the same digests, figures and rows", async () => {
  await mirrored.export();
  const { days, last } = await mirrored.load();
  expect([days, last?.day]).toEqual([2, "2026-01-03"]);
  expect((await mirrored.load()).days).toBe(0);
  await mirrored.catchUp();
  await expectTheSame();
  const client = await mirrored.mirror.connect("dex_owner");
  expect(await verify(client)).toEqual([]);
});

it("goes on with orders whose contract a writer gave in lower case", async () => {
  const mirror = await mirrored.mirror.connect("dex_owner");
  await mirrored.catchUp();
  await mirror.query("select ingest.take_back($1)", [blockAt(2.5)]);
  for (const table of ["dex_offer", "dex_trade", "dex_private.offer_ref"]) {
    await mirror.query(`update ${table} set venue = lower(venue)`);
  }
  await mirrored.catchUp();
  expect(await headOf(mirrored.mirror)).toEqual(await headOf(mirrored.origin));
  const leftOf = async ({ reader }: TestDatabase): Promise<unknown> =>
    (await reader.query("select * from dex_book('WETH', 'DAI', 100)")).rows;
  expect(await leftOf(mirrored.mirror)).toEqual(await leftOf(mirrored.origin));
});

it("deletes no file in its folder that it does not make, and takes none that has exported files", async () => {
  await mirrored.export();
  const dir = await mkdtemp(join(tmpdir(), "dex-load-"));
  try {
    const others = [
      "pairs.csv",
      "trades.csv",
      "trades.csv.gz",
      "trades-2026-01-01.parquet",
      "a.partial",
    ];
    const left = ["trades-2025-12-31.csv.gz", "tokens-0123456789abcdef.csv.partial"];
    for (const name of [...others, ...left]) await writeFile(join(dir, name), name);
    await mirrored.load(undefined, dir);
    expect((await readdir(dir)).filter((name) => !name.startsWith("lock.")).sort()).toEqual(
      others.toSorted(),
    );
    const before = await readdir(mirrored.dir);
    await expect(mirrored.load(undefined, mirrored.dir)).rejects.toThrow(
      `${mirrored.dir} has a manifest.json, so its files were exported`,
    );
    const kept = (names: string[]) => names.filter((name) => !name.startsWith("lock.")).sort();
    expect(kept(await readdir(mirrored.dir))).toEqual(kept(before));
  } finally {
    await rm(dir, { recursive: true });
  }
});

/** A static host that sends what it has by this encoding. */
async function withHost(
  encodingOf: (name: string) => "as-it-is" | "packed" | undefined | Promise<undefined>,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const name = basename(req.url ?? "");
    const encoding = await encodingOf(name);
    const file = readFileSync(join(mirrored.dir, name));
    if (encoding !== undefined) res.setHeader("Content-Encoding", "gzip");
    res.end(encoding === "packed" ? gzipSync(file) : file);
  };
  const server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

it("loads from a host that says Content-Encoding: gzip of .csv.gz, or packs other files", async () => {
  await mirrored.export();
  await withHost(
    (name) => (name.endsWith(".gz") ? "as-it-is" : "packed"),
    async (url) => {
      expect((await mirrored.load(url)).days).toBe(2);
    },
  );
  await mirrored.catchUp();
  await expectTheSame();
});

it.each([
  [{ version: 2 }, "the basis has version 2 of digests, and this program 1"],
  [{ hashed: true }, "hashed is false in this database and true at the origin"],
])("loads nothing into an empty database where the basis is %j", async (wrong, message) => {
  await mirrored.export();
  const { basis, ...rest } = (await readManifest(mirrored.dir))!;
  await writeManifest(mirrored.dir, { ...rest, basis: { ...basis, ...wrong } });
  try {
    await withHost(
      () => undefined,
      (url) => expect(mirrored.load(url)).rejects.toThrow(message),
    );
  } finally {
    await writeManifest(mirrored.dir, { ...rest, basis });
  }
  expect(await digestsOf(mirrored.mirror)).toEqual([]);
});

it("names the encoding of a host that packs what is packed", async () => {
  await mirrored.export();
  await withHost(
    (name) => (name.endsWith(".gz") ? "packed" : undefined),
    async (url) => {
      await expect(mirrored.load(url)).rejects.toThrow(
        /\.csv\.gz has more than the \d+ bytes that the manifest says: the host sends it with Content-Encoding: gzip, and must send files as they are$/,
      );
    },
  );
});

it("registers tokens that have exchanged their symbols at the origin", async () => {
  const { mirror } = mirrored;
  await registerMarkets(mirror.writer);
  await registerPair(mirror.writer, MKR, DAI);
  const client = await mirror.connect("dex_writer");
  const token = (address: string, symbol: string) => ({
    address,
    symbol,
    decimals: 18,
    name: null,
  });
  await register(client, { tokens: [token(WETH, "MKR"), token(MKR, "WETH")], pairs: [] });
  const { rows } = await client.query(
    "select base, base_gem from dex_pair where quote = 'DAI' order by base",
  );
  expect(rows).toEqual([
    { base: "MKR", base_gem: WETH },
    { base: "WETH", base_gem: MKR },
  ]);
});

it("loads the rest of a day that it has followed in part", async () => {
  await mirrored.export();
  const { writer } = mirrored.mirror;
  await mirrored.catchUp();
  await writer.query("select ingest.take_back($1)", [blockAt(49.5)]);
  expect((await mirrored.load()).days).toBe(1);
  await mirrored.catchUp();
  await expectTheSame();
});

it("loads what is missing where another writer has gone on while it fetched", async () => {
  await mirrored.export();
  await mirrored.catchUp();
  await mirrored.mirror.writer.query("select ingest.take_back($1)", [blockAt(48.5)]);
  const client = await mirrored.mirror.connect("dex_writer");
  const goOn = async (): Promise<void> => {
    const head = (await headOf(mirrored.mirror))!.block;
    const found = await fetch(`${mirrored.app.url}/v2/blocks?from=${head + 1}`);
    const { data } = (await found.json()) as { data: BlockPage };
    const blocks = data.blocks.filter(({ number }) => number <= blockAt(49.5));
    await client.query("begin");
    await writeOneByOne(client, blocks, head);
    await client.query("commit");
  };
  await withHost(
    async (name) => {
      if (!name.startsWith("trades-")) return undefined;
      await goOn();
      expect((await headOf(mirrored.mirror))?.block).toBe(blockAt(49));
      return undefined;
    },
    async (url) => {
      expect((await mirrored.load(url)).days).toBe(1);
    },
  );
  await mirrored.catchUp();
  await expectTheSame();
});

it("follows from an empty database, from where it was, and across reorganisations", async () => {
  const { origin, mirror } = mirrored;
  await mirrored.catchUp();
  await expectTheSame();
  await write(origin.writer, { trades: [75, 76].map((hour) => aTrade({ hour, offer_id: 4 })) });
  await mirrored.catchUp();
  await expectTheSame();

  await origin.writer.query("select ingest.take_back($1)", [blockAt(75)]);
  const waits = await mirrored.catchUp(undefined, ({ event }) => event === "waiting");
  expect(waits).toEqual([
    { event: "waiting", reason: expect.stringMatching(/^The origin is behind, at block /) },
  ]);
  await write(origin.writer, {
    trades: [75.5, 77].map((hour) => aTrade({ hour, offer_id: 4, base: "7" })),
  });
  const events = await mirrored.catchUp();
  expect(events[0]).toEqual({ event: "taken back", to: blockAt(75), from: blockAt(76) });
  await expectTheSame();
  // What the origin does not have any more is not here either.
  expect(
    (await mirror.reader.query("select from dex_trade where block = $1", [blockAt(76)])).rows,
  ).toEqual([]);
});

it("gives a market that is registered at the origin later", async () => {
  const { origin } = mirrored;
  await mirrored.catchUp();
  await registerPair(origin.writer, MKR, DAI);
  await write(origin.writer, { trades: [aTrade({ hour: 80, baseGem: MKR, offer_id: null })] });
  await mirrored.catchUp();
  await expectTheSame();
});

it("records what the facts are from, so that an indexer goes on and another one is refused", async () => {
  const { origin, mirror } = mirrored;
  await origin.writer.query("select ingest.begin_index(5, $1, 'book', $2, 'event')", [
    BOOK,
    blockAt(0.5),
  ]);
  await mirrored.catchUp();
  const begin = (chain: number): Promise<unknown> =>
    mirror.writer.query("select ingest.begin_index($1, $2, 'book', $3, 'event')", [
      chain,
      BOOK,
      blockAt(0.5),
    ]);
  await begin(5);
  await expect(begin(6)).rejects.toThrow("the database was filled from chain 5, not 6");
});

it("has the days of files as final, also where an indexer goes on, and no block that is taken back", async () => {
  await mirrored.export();
  await mirrored.load();
  const { writer } = mirrored.mirror;
  const final = async (): Promise<unknown> => {
    const { rows } = await writer.query("select number from dex_private.final_block(null)");
    return rows[0]?.number;
  };
  expect(await final()).toBe(blockAt(50));
  await writer.query("select ingest.begin_index(5, $1, 'book', $2, 'event')", [BOOK, blockAt(0.5)]);
  expect(await final()).toBe(blockAt(50));
  await writer.query("select ingest.take_back($1)", [blockAt(49)]);
  await write(writer, { trades: [aTrade({ hour: 49.1, offer_id: null })] });
  expect(await final()).toBe(blockAt(49));
});
