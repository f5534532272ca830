// An origin that lies, by its files or by its blocks, is refused by name, and changes nothing of what the mirror has.
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { readManifest } from "../../../db/export/manifest.ts";
import { follow } from "../../../db/mirror/follower.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  MKR,
  registerMarkets,
  WETH,
  write,
} from "../../factories.ts";
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { digestsOf, figuresOf, useMirrored } from "./following.ts";
import { makeLyingOrigin, type Lie, type LyingOrigin } from "./lying-origin.ts";

const FIRST = anOffer({ id: 1, hour: 1 });
const SECOND = aTrade({ hour: 2, offer_id: null });

const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  await write(writer, {
    offers: [FIRST, anOffer({ id: 2, hour: 30, killed: blockAt(50) })],
    trades: [SECOND, ...[3, 26, 51, 80].map((hour) => aTrade({ hour, offer_id: null }))],
    head: 81,
  });
});

let origin: LyingOrigin;
let had: unknown;
const contentsOf = async (): Promise<unknown> => {
  const { rows } = await mirrored.mirror.reader.query("select * from dex_token order by address");
  return [await digestsOf(mirrored.mirror), await figuresOf(mirrored.mirror), rows];
};
beforeAll(async () => {
  origin = await makeLyingOrigin(() => mirrored.app.url);
  await mirrored.export();
  // The mirror has the first day.
  origin.lie = (path, truth) => (path.endsWith("manifest.json") ? daysOf(truth, 1) : undefined);
  await mirrored.load(`${origin.url}/v2/files`);
  had = await contentsOf();
});
afterAll(() => origin.close());
afterEach(async () => {
  // Whatever the origin said.
  expect(await contentsOf()).toEqual(had);
});

interface Manifest {
  sha256?: string;
  days: {
    day: string;
    digest: string;
    firstBlock: number;
    lastBlock: number;
    files: Listed[];
  }[];
}
interface Listed {
  name: string;
  kind: string;
  rows: number;
  bytes: number;
  sha256: string;
}

const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** With the right SHA-256 of itself. */
function manifestOf(truth: Buffer, change: (manifest: Manifest) => void): string {
  const { sha256: _, ...manifest } = JSON.parse(truth.toString()) as Manifest;
  change(manifest);
  return `${JSON.stringify({ ...manifest, sha256: sha256(JSON.stringify(manifest)) })}\n`;
}

const daysOf = (truth: Buffer, count: number): string =>
  manifestOf(truth, (manifest) => manifest.days.splice(count));

const BOOK = anAddress("book").toLowerCase();
const TRADES = "trades-2026-01-02.csv.gz";

/** Other rows of a file, in accordance with the manifest. */
const withRows = (
  name: string,
  change: (rows: string) => string | Buffer,
  rows?: (listed: number) => number,
): Lie => withBytes(name, (file) => gzipSync(change(gunzipSync(file).toString())), rows);

const withBytes =
  (name: string, other: (file: Buffer) => Buffer, rows = (listed: number) => listed): Lie =>
  (path, truth) => {
    if (path.endsWith(name)) return other(truth);
    if (!path.endsWith("manifest.json")) return undefined;
    return manifestOf(truth, ({ days }) => {
      const file = days.flatMap(({ files }) => files).find((one) => one.name === name)!;
      const made = other(filesOf.get(name)!);
      Object.assign(file, { bytes: made.length, sha256: sha256(made), rows: rows(file.rows) });
    });
  };

/** Other tokens. */
const withRegistry =
  (change: (rows: string) => string): Lie =>
  (path, truth) => {
    const other = (file: Buffer): Buffer => Buffer.from(change(file.toString()));
    if (path.includes("/tokens-")) return other(truth);
    if (!path.endsWith("manifest.json")) return undefined;
    return manifestOf(truth, ({ days }) => {
      for (const file of days.flatMap(({ files }) => files)) {
        if (file.kind !== "tokens") continue;
        const made = other(filesOf.get(file.name)!);
        Object.assign(file, { bytes: made.length, sha256: sha256(made) });
      }
    });
  };

const filesOf = new Map<string, Buffer>();
beforeAll(async () => {
  const manifest = (await readManifest(mirrored.dir))!;
  const tokens = manifest.days.flatMap(({ files }) => files).find(({ kind }) => kind === "tokens");
  for (const name of [
    ...[TRADES, "blocks-2026-01-02.csv.gz", "ends-2026-01-03.csv.gz"],
    tokens!.name,
  ]) {
    const found = await fetch(`${mirrored.app.url}/v2/files/${name}`);
    filesOf.set(name, Buffer.from(await found.arrayBuffer()));
  }
});

/** A flipped bit in the middle. */
const flipped = (truth: Buffer): Buffer => {
  const other = Buffer.from(truth);
  other[other.length >> 1]! ^= 1;
  return other;
};

const ofManifest =
  (change: (manifest: Manifest) => void): Lie =>
  (path, truth) =>
    path.endsWith("manifest.json") ? manifestOf(truth, change) : undefined;

const ofFile =
  (name: string, change: (truth: Buffer, res: ServerResponse) => ReturnType<Lie>): Lie =>
  (path, truth, res) =>
    path.endsWith(name) ? change(truth, res) : undefined;

/** Goes on until the client leaves. */
const endless = (res: ServerResponse): "answered" => {
  const send = (): void => {
    while (!res.destroyed && res.write(Buffer.alloc(65_536, "0")));
  };
  res.on("drain", send);
  send();
  return "answered";
};

const LIES: [what: string, lie: Lie, message: RegExp][] = [
  [
    "a file is truncated",
    ofFile(TRADES, (truth) => truth.subarray(0, -9)),
    /trades-2026-01-02\.csv\.gz ends after \d+ of the \d+ bytes/,
  ],
  [
    "a bit of a file is flipped",
    ofFile(TRADES, flipped),
    /trades-2026-01-02\.csv\.gz has other bytes than the manifest says/,
  ],
  [
    "a file does not end",
    ofFile(TRADES, (_, res) => endless(res)),
    /trades-2026-01-02\.csv\.gz has more than the \d+ bytes/,
  ],
  ["a bit of the manifest is flipped", ofFile("manifest.json", flipped), /manifest\.json/],
  [
    "the manifest does not end",
    ofFile("manifest.json", (_, res) => endless(res)),
    /answers with more than 33554432 bytes/,
  ],
  [
    "the manifest has many bytes when it is decompressed",
    ofFile("manifest.json", (_, res) => {
      res.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(Buffer.alloc(40_000_000)));
      return "answered";
    }),
    /answers with more than 33554432 bytes/,
  ],
  [
    "the manifest is elsewhere",
    ofFile("manifest.json", (_, res) => {
      res.writeHead(302, { Location: "http://169.254.169.254/" }).end();
      return "answered";
    }),
    /redirects to http:\/\/169\.254\.169\.254\/: give the URL that it is at/,
  ],
  [
    "a name leads out of the folder",
    ofManifest(({ days }) => (days[1]!.files[0]!.name = "../../x-2026-01-02.csv.gz")),
    /manifest\.json at days\.1\.files\.0\.name/,
  ],
  [
    "a file is of another day",
    ofManifest(({ days }) => (days[1]!.files[0]!.name = "blocks-2026-01-09.csv.gz")),
    /lists 0 files of blocks for 2026-01-02, not one/,
  ],
  [
    "a file is huge",
    ofManifest(({ days }) => (days[1]!.files[0]!.bytes = Number.MAX_SAFE_INTEGER)),
    /the files of 2026-01-02 have \d+ bytes, more than the 10000000 that a day may have/,
  ],
  [
    "a block is beyond all numbers",
    ofManifest(({ days }) => (days[1]!.lastBlock = 2 ** 40)),
    /manifest\.json at days\.1\.lastBlock/,
  ],
  [
    "a day is missing",
    ofManifest(({ days }) => days.splice(1, 1)),
    /contradicts itself: 2026-01-03 follows 2026-01-01/,
  ],
  [
    "the first day is another",
    ofManifest(({ days }) => (days[0]!.digest = `0x${"7".repeat(64)}`)),
    /2026-01-01: at its last block, \d+, this database has the digest 0x\w+, and the origin 0x7777/,
  ],
  [
    "a later day ends otherwise",
    ofManifest(({ days }) => (days[1]!.digest = `0x${"7".repeat(64)}`)),
    /2026-01-02: block \d+: its facts have the digest 0x\w+, and the origin says 0x7777/,
  ],
  [
    "an amount is another",
    withRows(TRADES, (rows) => rows.replace(/,100\n/, ",101\n")),
    /2026-01-02: block 93600: its facts have the digest 0x\w+, and the origin says 0x/,
  ],
  [
    "a pair is of other tokens",
    withRows(TRADES, (rows) => rows.replace(WETH.toLowerCase(), MKR.toLowerCase())),
    /2026-01-02: block 93600, pair: "0x\w{64}" is not accepted; expected 0x\w{64}, the hash of the row's two tokens/,
  ],
  [
    "a value is none",
    withRows(TRADES, (rows) => rows.replace(/,100\n/, ",1e2\n")),
    /2026-01-02: block 93600, bid_amt: "1e2" is not accepted; expected a decimal number/,
  ],
  [
    "a log index is no integer",
    withRows(TRADES, (rows) => rows.replace(/^93600,\d+,/m, "93600,5.5,")),
    /2026-01-02: block 93600 has idx "5\.5", which is not an integer in digits/,
  ],
  [
    "the name of an order has the zero character",
    withRows(TRADES, (rows) => rows.replace(/Z,(0x\w{64}),,,/, `Z,$1,,"${BOOK}:""a\\u0000b""",`)),
    /2026-01-02: block 93600 has the order "0x\w{40}:\\"a\\\\u0000b\\"", whose name has the zero character/,
  ],
  [
    "a row has a value more",
    withRows(TRADES, (rows) => rows.replace(/,100\n/, ",100,extra\n")),
    /2026-01-02: trades-2026-01-02\.csv\.gz line 2 has 14 values, and its header 13/,
  ],
  [
    "a row has a quote, and a value more",
    withRows(TRADES, (rows) => rows.replace(/,100\n/, ',"100",\n')),
    /2026-01-02: trades-2026-01-02\.csv\.gz line 2 has 14 values, and its header 13/,
  ],
  [
    "a block is not in decimal digits",
    withRows("blocks-2026-01-02.csv.gz", (rows) => rows.replace(/^93600,/m, "0x16da0,")),
    /2026-01-02: blocks-2026-01-02\.csv\.gz has the block 0x16da0, which is no number in digits/,
  ],
  [
    "a file is no gzip",
    withBytes(TRADES, () => Buffer.from("no gzip")),
    /2026-01-02: trades-2026-01-02\.csv\.gz cannot be decompressed: incorrect header check/,
  ],
  [
    "a file is cut off",
    withBytes(TRADES, (file) => file.subarray(0, -9)),
    /2026-01-02: trades-2026-01-02\.csv\.gz cannot be decompressed: unexpected end of file/,
  ],
  [
    "the first block is another",
    ofManifest(({ days }) => (days[1]!.firstBlock -= 1)),
    /2026-01-02: its first block is 93600, and not 93599/,
  ],
  [
    "a file is listed twice",
    ofManifest(({ days }) => days[1]!.files.push(days[1]!.files[1]!)),
    /manifest\.json lists \S+ twice: for 2026-01-02, and for 2026-01-02/,
  ],
  [
    "a name has what a terminal obeys",
    withRegistry((rows) => rows.replace(/,[^,\n]*\n$/, ",\u202eDAI\n")),
    /2026-01-02: the registrations of the origin are refused: name of 0x\w{40} is " DAI": it may have no control character/,
  ],
  [
    "a time is long, and has what a terminal obeys",
    withRows(TRADES, (rows) => rows.replace(/2026-01-02T[^,]*/, `\u001b[2J${"7".repeat(9000)}`)),
    /^2026-01-02: block 93600 is at \S+, and a row of its trades at {2}\[2J7{800,950}…$/,
  ],
  [
    "a row is missing",
    withRows(TRADES, (rows) => rows.split("\n").slice(0, 1).join("\n")),
    /2026-01-02: trades-2026-01-02\.csv\.gz has less rows than the 1/,
  ],
  [
    "a row is there twice",
    withRows(
      TRADES,
      (rows) => `${rows}${rows.split("\n")[1]!}\n`,
      (listed) => listed + 1,
    ),
    /^2026-01-02: trades-2026-01-02\.csv\.gz line 3 exists already: tx 0x\w+, idx 0$/,
  ],
  [
    "a row is of no block",
    withRows(TRADES, (rows) => rows.replace(/^93600,/m, "93601,")),
    /has rows of block 93601, which is not in blocks-2026-01-02/,
  ],
  [
    "a cancellation is missing",
    withRows("ends-2026-01-03.csv.gz", (rows) => rows.replace(/,cancelled/, ",filled")),
    /2026-01-03: block 180000: its facts have the digest/,
  ],
  [
    "the columns are others",
    withRows(TRADES, (rows) => rows.replace("block,idx", "idx,block")),
    /trades-\S+\.csv\.gz begins with other columns/,
  ],
  [
    "a file has many bytes when it is decompressed",
    withRows(TRADES, () => Buffer.alloc(20_000_000)),
    /2026-01-02: trades-2026-01-02\.csv\.gz line 1: the row has an unclosed quote, or more than 100000 characters/,
  ],
  [
    "a file has many rows when it is decompressed",
    withRows(
      TRADES,
      (rows) => rows + "93600,0,,,,,,,,,,,\n".repeat(2_000_000),
      () => 2_000_001,
    ),
    /2026-01-02: .*more than 200000 rows|more than 10000000 bytes without compression/,
  ],
];

it.each(LIES.filter(([what]) => !what.startsWith("a cancellation")))(
  "refuses files by name where %s",
  async (_, lie, message) => {
    origin.lie = lie;
    await expect(mirrored.load(`${origin.url}/v2/files/`)).rejects.toThrow(message);
  },
);

it("refuses a day and keeps those before it, where a cancellation is missing in its files", async () => {
  const [, lie, message] = LIES.find(([what]) => what.startsWith("a cancellation"))!;
  origin.lie = lie;
  await expect(mirrored.load(`${origin.url}/v2/files/`)).rejects.toThrow(message);
  const { rows } = await mirrored.mirror.reader.query("select max(number) as head from dex_block");
  expect(rows).toEqual([{ head: blockAt(30) }]);
  await mirrored.mirror.writer.query("select ingest.take_back($1)", [blockAt(3)]);
});

it("changes nothing by an old manifest", async () => {
  origin.lie = (path, truth) => (path.endsWith("manifest.json") ? daysOf(truth, 1) : undefined);
  expect((await mirrored.load(`${origin.url}/v2/files/`)).days).toBe(0);
});

interface Page {
  data: {
    basis: Record<string, unknown>;
    before: { number: number; digest: string };
    blocks: { number: number; digest: string; trades: Record<string, unknown>[] }[];
    head: { number: number };
    next: number | null;
  };
}

const ofPage =
  (change: (page: Page["data"]) => unknown): Lie =>
  (path, truth) => {
    if (!path.startsWith("/v2/blocks")) return undefined;
    const page = JSON.parse(truth.toString()) as Page;
    change(page.data);
    return JSON.stringify(page);
  };

interface Token {
  symbol: string;
  name: string;
}

const ofRegistrations =
  (change: (token: Token) => unknown): Lie =>
  (path, truth) => {
    if (!path.startsWith("/v2/registrations")) return undefined;
    const page = JSON.parse(truth.toString()) as { data: { tokens: Token[] } };
    change(page.data.tokens[0]!);
    return JSON.stringify(page);
  };

const ANOTHER = `0x${"7".repeat(64)}`;

it.each<[what: string, lie: Lie, message: RegExp]>([
  [
    "an amount is another",
    ofPage(({ blocks }) => (blocks[0]!.trades[0]!["lotAmt"] = "1.5")),
    /block 93600: its facts have the digest 0x\w+, and the origin says 0x/,
  ],
  [
    "a trade is missing",
    ofPage(({ blocks }) => blocks[0]!.trades.pop()),
    /block 93600: its facts have the digest/,
  ],
  [
    "a trade is there twice",
    ofPage(({ blocks }) => blocks[0]!.trades.push(blocks[0]!.trades[0]!)),
    /^the database refuses block 93600: trades\[1\] exists already: tx 0x/,
  ],
  [
    "a block is missing",
    ofPage(({ blocks }) => blocks.shift()),
    /block \d+: its facts have the digest/,
  ],
  [
    "a digest is another",
    ofPage(({ blocks }) => (blocks[1]!.digest = ANOTHER)),
    /and the origin says 0x7777/,
  ],
  [
    "blocks are in disorder",
    ofPage(({ blocks }) => blocks.reverse()),
    /contradicts itself: block \d+ follows block \d+/,
  ],
  ["there is no end", ofPage((page) => (page.next = 5)), /contradicts itself: it ends with block/],
  ["a number is beyond all", ofPage(({ head }) => (head.number = 2 ** 40)), /is not as documented/],
  [
    "an amount is none",
    ofPage(({ blocks }) => (blocks[0]!.trades[0]!["lotAmt"] = "1e9")),
    /is not as documented/,
  ],
  [
    "the name of an order has the zero character",
    ofPage(({ blocks }) => (blocks[0]!.trades[0]!["offer"] = `${BOOK}:"a\\u0000b"`)),
    /block 93600 has the order "0x\w{40}:\\"a\\\\u0000b\\"", whose name has the zero character/,
  ],
  [
    "the name of an order has a half of a surrogate pair",
    ofPage(({ blocks }) => (blocks[0]!.trades[0]!["offer"] = `${BOOK}:"\\ud800"`)),
    /block 93600 has the order .*, whose name has .* a half of a surrogate pair/,
  ],
  [
    "an order is no number",
    ofPage(({ blocks }) => (blocks[0]!.trades[0]!["offer"] = "12\0")),
    /block 93600, offer: "12\\u0000" is not accepted; expected an integer from 0 to 2147483647/,
  ],
  [
    "the name of a token has the zero character",
    ofRegistrations((token) => (token.name = "a\0b")),
    /^the registrations of the origin are refused: .* name "a\\u0000b" of 0x\w{40} has the zero/,
  ],
  [
    "the symbol of a token has a half of a surrogate pair",
    ofRegistrations((token) => (token.symbol = "\ud800")),
    /^the registrations of the origin are refused: symbol "\\ud800" .* of 0x\w{40} has the zero character, or a half of a surrogate pair/,
  ],
  [
    "the name of a token has what turns the direction of writing",
    ofRegistrations((token) => (token.name = "\u202eDAI")),
    /^the registrations of the origin are refused: name of 0x\w{40} is " DAI": it may have no control character/,
  ],
  [
    "the taker rule is another",
    ofPage(({ basis }) => (basis["hashed"] = true)),
    /hashed is false in this database and true at the origin: one of them has no hashes/,
  ],
  [
    "the first block is another",
    ofPage(({ basis }) => (basis["firstBlock"] = 1)),
    /firstBlock is 3600 in this database and 1 at the origin/,
  ],
  [
    "all are none, of which the first one is named",
    ofPage((page) => (page.blocks = [0, 0, 0] as never)),
    /is not as documented: data\.blocks\.0: .*expected object, received number$/,
  ],
  [
    "a refusal has what a terminal obeys",
    ofFile("/v2/blocks?from=10801", (_, res) => {
      res.writeHead(404).end('{"message":"\u001b[2Jno\u202e"}');
      return "answered";
    }),
    /answers 404: {2}\[2Jno $/,
  ],
  [
    "there are too many to hold them",
    ofFile("/v2/blocks?from=10801", () => `[${"0,".repeat(1_500_000)}0]`),
    /answers with more than 1500000 lists, objects and members/,
  ],
  [
    "the answer does not end",
    ofFile("/v2/blocks?from=10801", (_, res) => endless(res)),
    /answers with more than 67108864 bytes/,
  ],
])("refuses blocks by name where %s", async (_, lie, message) => {
  origin.lie = lie;
  await expect(mirrored.catchUp(origin.url)).rejects.toThrow(message);
});

it("waits where an answer is cut off, and goes on", async () => {
  origin.lie = ofFile("/v2/blocks?from=10801", (truth) => truth.subarray(0, -9));
  const events = await mirrored.catchUp(origin.url, ({ event }) => event === "waiting");
  expect(events).toEqual([{ event: "waiting", reason: expect.stringMatching(/is not JSON$/) }]);
});

it("says why it waits where the pages contradict the single block before them", async () => {
  origin.lie = ofPage(({ before }) => (before.digest = ANOTHER));
  const events = await mirrored.catchUp(origin.url, ({ event }) => event === "waiting");
  expect(events).toEqual([
    {
      event: "waiting",
      reason:
        "The origin has gone on to another branch, or what it says of block 10800 contradicts its blocks after it",
    },
  ]);
});

it("asks ten times a second where there is no next block, and no answer waits for it", async () => {
  const noNext = ofPage((page) =>
    Object.assign(page, { blocks: [], head: page.before, final: page.before.number, next: null }),
  );
  const stop = new AbortController();
  const asked: number[] = [];
  origin.lie = (path, truth, res) => {
    if (path.startsWith("/v2/blocks")) asked.push(performance.now());
    if (asked.length === 6) stop.abort();
    return noNext(path, truth, res);
  };
  const { url } = mirrored.mirror;
  const began = performance.now();
  await follow({ url, origin: origin.url, signal: stop.signal });
  // The first one finds the head, and each later one waits 100 ms: what else takes time adds to it. A timer may be a
  // millisecond early.
  expect(asked.at(-1)! - began).toBeGreaterThan(4 * 99);
});

it.each([
  ["all blocks are others", aTrade({ hour: 2, offer_id: null, base: "9" })],
  // Which no indexer has recorded as final: the files are.
  ["the last block of the files is another", SECOND],
])("takes back nothing that is final for an origin where %s", async (_, second) => {
  await using other = await makeDatabase();
  await registerMarkets(other.writer);
  await write(other.writer, {
    offers: [FIRST],
    trades: [second, ...[3, 4].map((hour) => aTrade({ hour, offer_id: null, base: "9" }))],
  });

  await using app = await makeTestApp(other.reader);
  await expect(mirrored.catchUp(app.url)).rejects.toThrow(
    /the origin has other facts: at block 10800, which is final here, this database has the digest .* Nothing was taken back/,
  );
});
