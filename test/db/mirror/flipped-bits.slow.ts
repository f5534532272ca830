// One bit that is flipped, wherever it is in a row, a file, the manifest or a page of an origin, is noticed and named.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { Client } from "../../../db/connect.ts";
import { parseManifest, readManifest } from "../../../db/export/manifest.ts";
import { verify } from "../../../db/verify/verify-database.ts";
import { exchangeWhole } from "../../exchange-http.ts";
import {
  aHash,
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  WETH,
  write,
} from "../../factories.ts";
import { digestsOf, useMirrored } from "./following.ts";
import { contentDigest, makeLyingOrigin, type LyingOrigin } from "./lying-origin.ts";

const BOOK = anAddress("book");
const POOL = { gem0: WETH, gem1: DAI, fee: 3000 };
const RANGES = {
  ...{ ...POOL, venue: anAddress("ranges"), tick_spacing: 60, tick: 0 },
  ...{ sqrt_price: String(2n ** 96n), liquidity: "5", nets: "-60:5 60:-5" },
};

/** Rows of each kind, with a value in each column that can have one, and a block without rows at the head. */
const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  await writer.query("select ingest.offer_ids($1, $2, $3)", [[BOOK], ["7"], [blockAt(1)]]);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 1, killed: blockAt(3) }),
      anOffer({ id: 2 ** 30, hour: 1, venue: BOOK }),
    ],
    trades: [aTrade({ hour: 2, offer_id: 1, venue: anAddress("market") })],
    head: 3,
  });
  const pools = [
    RANGES,
    { ...POOL, venue: anAddress("reserves"), reserve0: "10", reserve1: "1000.5" },
  ];
  const parent = aHash("parent");
  await writer.query("select ingest.write_block($1, $2, $3, pools => $4)", [
    ...[blockAt(24), hours(24), parent, JSON.stringify(pools)],
  ]);
  await writer.query("select ingest.write_block($1, $2, $3, $4)", [
    ...[blockAt(24) + 1, hours(24.1), aHash("head"), parent],
  ]);
  await mirrored.export();
});

let origin: LyingOrigin;
beforeAll(async () => {
  origin = await makeLyingOrigin(() => mirrored.app.url);
});
afterAll(() => origin.close());

const place = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  bit: fc.nat(7),
});
type Place = typeof place extends fc.Arbitrary<infer Value> ? Value : never;

function flipped(right: Buffer, { at, bit }: Place): Buffer {
  const wrong = Buffer.from(right);
  wrong[Math.floor(at * wrong.length)]! ^= 1 << bit;
  return wrong;
}

/** Of the bytes of the path that begins so; what the origin said of them stays. */
function flipIn(start: string, where: Place): void {
  origin.lie = (path, truth, res) => {
    if (!path.startsWith(start)) return undefined;
    res.writeHead(200, { "Content-Digest": contentDigest(truth) }).end(flipped(truth, where));
    return "answered";
  };
}

it("of a manifest", async () => {
  const text = await readFile(join(mirrored.dir, "manifest.json"));
  expect(parseManifest(text.toString()).days).toHaveLength(1);
  fc.assert(
    fc.property(place, (where) => {
      expect(() => parseManifest(flipped(text, where).toString())).toThrow(/^manifest\.json /);
    }),
    { numRuns: 500 },
  );
});

it("of a file or the manifest that is loaded", async () => {
  const [day] = (await readManifest(mirrored.dir))!.days;
  const names = day!.files
    .map(({ name }) => name)
    // A mirror makes candles itself.
    .filter((name) => !/^candles|parquet$/.test(name));
  expect(names).toHaveLength(7);
  for (const name of ["manifest.json", ...names]) {
    await fc.assert(
      fc.asyncProperty(place, async (where) => {
        flipIn(`/v2/files/${name}`, where);
        await expect(mirrored.load(`${origin.url}/v2/files/`)).rejects.toThrow(name);
      }),
      { numRuns: 3 },
    );
  }
  expect(await digestsOf(mirrored.mirror)).toEqual([]);
});

it.each(["v2/blocks", "v2/registrations"])("of a page of %s that is followed", async (path) => {
  await fc.assert(
    fc.asyncProperty(place, async (where) => {
      flipIn(`/${path}`, where);
      const [event] = await mirrored.catchUp(origin.url, () => true);
      expect(event).toEqual({
        event: "waiting",
        reason: expect.stringMatching(
          new RegExp(`/${path}\\S* is not what its Content-Digest says$`),
        ) as string,
      });
    }),
    { numRuns: 20 },
  );
  expect(await digestsOf(mirrored.mirror)).toEqual([]);
});

it.each(["identity", "gzip"])(
  "is in the digest of the bytes that are sent as %s",
  async (encoding) => {
    for (const path of ["/v2/blocks?from=0", "/v2/registrations", `/v2/block/${blockAt(2)}`]) {
      const asked = { path, headers: { "accept-encoding": encoding } };
      const { headers, body } = await exchangeWhole(mirrored.app.url, asked);
      expect(headers[headers.indexOf("Content-Digest") + 1]).toBe(contentDigest(body));
      if (path.endsWith("from=0")) expect(headers.includes("gzip")).toBe(encoding === "gzip");
    }
  },
);

it("waits for an origin whose pages have no digest", async () => {
  origin.lie = (path, truth, res) => {
    if (!path.startsWith("/v2/blocks")) return undefined;
    res.writeHead(200).end(truth);
    return "answered";
  };
  expect(await mirrored.catchUp(origin.url, () => true)).toEqual([
    {
      event: "waiting",
      reason: expect.stringMatching(/v2\/blocks\?from=0 has no Content-Digest$/) as string,
    },
  ]);
});

describe("of a row", () => {
  let owner: Client;
  beforeAll(async () => {
    owner = await mirrored.origin.connect("dex_owner");
  });
  beforeEach(() => owner.query("begin"));
  afterEach(() => owner.query("rollback"));

  /** Another value of the type, as near as can be. */
  const OTHER: Record<string, string> = {
    text: "overlay($ placing case when right($, 1) = '1' then '2' else '1' end from length($))",
    integer: "$ # 1",
    bigint: "$ # 1",
    numeric: "$ + 0.000000000000000001",
    boolean: "not $",
    "timestamp with time zone": "$ + interval '1 microsecond'",
    bytea: "set_bit($, 3, 1 - get_bit($, 3))",
  };
  it("of whatever column of history", async () => {
    const { rows: columns } = await owner.query<{ table: string; column: string; type: string }>(
      `select table_schema || '.' || table_name as table, column_name as column, data_type as type
      from information_schema.columns
      where (table_name ~ '^dex_(block|offer|trade|pool|pool_state)$' and table_schema = 'public'
          or table_name in ('cancellation', 'offer_ref') and table_schema = 'dex_private')
        and table_name in (select tablename from pg_tables)
        and is_generated = 'NEVER'
      order by 1, 2`,
    );
    expect(columns.length).toBeGreaterThan(60);
    const unnoticed: string[] = [];
    // Only a node can tell when the block without rows was, which is the fifth.
    for (const { table, column, type } of columns) {
      const other = OTHER[type];
      if (other === undefined) throw new Error(`${table}.${column} is of the type ${type}`);
      const { rowCount } = await owner.query(`select from ${table} where ${column} is not null`);
      if (rowCount === 0) unnoticed.push(`${table}.${column} has no value`);
      for (let row = 0; row < (rowCount ?? 0); row += 1) {
        await owner.query("savepoint before");
        const isRefused = await owner
          .query(
            `update ${table}
            set ${column} = ${other.replaceAll("$", column)}
            where ctid = (select ctid from ${table} where ${column} is not null order by ctid limit 1 offset ${row})`,
          )
          .then(
            () => false,
            (error: unknown) => {
              // A constraint notices it.
              if ((error as { code?: string }).code?.startsWith("23") === true) return true;
              throw error;
            },
          );
        if (!isRefused && (await verify(owner)).length === 0) {
          unnoticed.push(`${table}.${column} of row ${row}`);
        }
        await owner.query("rollback to savepoint before");
      }
    }
    expect(unnoticed).toEqual(["public.dex_block.time of row 4"]);
  });
});
