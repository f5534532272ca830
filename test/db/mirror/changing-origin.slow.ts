// An origin that changes, breaks off or dawdles while it is read: the mirror ends with its facts, or says why not.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { readManifest, type ListedFile } from "../../../db/export/manifest.ts";
import { download } from "../../../db/mirror/download.ts";
import { Origin } from "../../../db/mirror/origin.ts";
import { verify } from "../../../db/verify/verify-database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { digestsOf, figuresOf, headOf, useMirrored } from "./following.ts";
import { makeLyingOrigin, type LyingOrigin } from "./lying-origin.ts";

/** More than a page of blocks; of a block a second, so that 64 of them are not final. */
const LENGTH = 130;
let branch = 0;

/** Each branch is longer than the one before. */
const branchFrom = (first: number) => {
  branch += 1;
  const numbers = Array.from({ length: LENGTH + branch - first }, (_, n) => first + n);
  return numbers.map((n) => aTrade({ hour: n / 3600, offer_id: null, base: String(branch) }));
};

const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  await write(writer, { trades: branchFrom(1) });
  // A day that is final.
  await write(writer, { trades: [aTrade({ hour: 24 })] });
  await mirrored.export();
  await writer.query("select ingest.take_back($1)", [LENGTH]);
});

let origin: LyingOrigin;
beforeAll(async () => {
  origin = await makeLyingOrigin(() => mirrored.app.url);
});
afterAll(() => origin.close());
beforeEach(async () => {
  Object.assign(origin, { lie: () => undefined, before: () => undefined });
  await mirrored.mirror.empty();
});

async function reorganise(depth: number): Promise<void> {
  const { writer } = mirrored.origin;
  const { block } = (await headOf(mirrored.origin))!;
  await writer.query("select ingest.take_back($1)", [block - depth]);
  await write(writer, { trades: branchFrom(block - depth + 1) });
}

const contentsOf = async (): Promise<unknown> => [
  await digestsOf(mirrored.mirror),
  await figuresOf(mirrored.mirror),
];

async function expectTheSame(): Promise<void> {
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
  expect(await figuresOf(mirrored.mirror)).toEqual(await figuresOf(mirrored.origin));
}

it("ends with the origin's facts, before whichever of its answers that reorganises", async () => {
  const owner = await mirrored.mirror.connect("dex_owner");
  const moment = fc.record({ answer: fc.nat(12), depth: fc.integer({ min: 1, max: 60 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 4 }), async (moments) => {
      await mirrored.mirror.empty();
      let answers = 0;
      origin.before = async () => {
        for (const { answer, depth } of moments) if (answer === answers) await reorganise(depth);
        answers += 1;
      };
      await mirrored.catchUp(origin.url);
      // It may have reorganised after its last page.
      const isAtHead = async (): Promise<boolean> =>
        (await headOf(mirrored.mirror))?.digest === (await headOf(mirrored.origin))?.digest;
      while (!(await isAtHead())) await mirrored.catchUp(origin.url);
      await expectTheSame();
      expect(await verify(owner)).toEqual([]);
    }),
    { numRuns: 4, examples: [[[0, 1, 2, 3, 4].map((answer) => ({ answer, depth: 40 }))]] },
  );
});

it("takes back nothing for a branch that is not what it says", async () => {
  await mirrored.catchUp();
  const had = await contentsOf();
  await reorganise(10);
  origin.lie = (path, truth) =>
    path.startsWith("/v2/blocks")
      ? truth.toString().replace(/"lotAmt":"\d+"/, '"lotAmt":"0.5"')
      : undefined;
  await expect(mirrored.catchUp(origin.url)).rejects.toThrow(/its facts have the digest 0x/);
  expect(await contentsOf()).toEqual(had);
  origin.lie = () => undefined;
  await mirrored.catchUp(origin.url);
  await expectTheSame();
});

describe("a file", () => {
  let dir: string;
  let file: ListedFile;
  let right: Buffer;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "dex-download-"));
    const [day] = (await readManifest(mirrored.dir))!.days;
    file = day!.files.find(({ name }) => name === "trades-2026-01-01.csv.gz")!;
    right = await readFile(join(mirrored.dir, file.name));
  });
  afterEach(() => rm(dir, { recursive: true }));

  const fetchIt = (options = {}): Promise<string> =>
    download(file, { origin: new Origin(`${origin.url}/v2/files/`, options), dir, pauseMs: 1 });

  /** Once so much of the file is on the disk: what is on its way is lost. */
  async function breakOff(res: ServerResponse, bytes: number): Promise<void> {
    const arrived = async () => {
      const sizes = (await readdir(dir)).map(async (name) => (await stat(join(dir, name))).size);
      return Math.max(0, ...(await Promise.all(sizes)));
    };
    while ((await arrived()) < bytes) await sleep(5);
    res.destroy();
  }

  it("is fetched from where it broke off", async () => {
    const given: number[] = [];
    origin.lie = (_, truth, res) => {
      given.push(truth.length);
      if (given.length > 1) return undefined;
      res.writeHead(200, { "Content-Length": truth.length });
      res.write(truth.subarray(0, truth.length >> 1), () => void breakOff(res, truth.length >> 1));
      return "answered";
    };
    expect(await readFile(await fetchIt())).toEqual(right);
    expect(given).toEqual([right.length, right.length - (right.length >> 1)]);
    expect(await readdir(dir)).toEqual([file.name]);
  });

  it("is fetched anew where an earlier run has left a part of other bytes", async () => {
    await writeFile(join(dir, `${file.name}.partial`), Buffer.alloc(right.length >> 1, 7));
    expect(await readFile(await fetchIt())).toEqual(right);
    expect(await readdir(dir)).toEqual([file.name]);
  });

  it("is not kept where its bytes are others each time", async () => {
    origin.lie = (_, truth) => Buffer.from(truth).fill(7, truth.length >> 1);
    await expect(fetchIt()).rejects.toThrow("has other bytes than the manifest says");
    expect(await readdir(dir)).toEqual([]);
  });

  it("is given up where it comes byte by byte", async () => {
    origin.lie = (_, truth, res) => {
      res.writeHead(200);
      const dripping = setInterval(() => res.write(truth.subarray(0, 1)), 5);
      res.on("close", () => clearInterval(dripping));
      return "answered";
    };
    await expect(fetchIt({ idleMs: 100 })).rejects.toThrow(
      /does not answer: too little came in time/,
    );
  });
});
