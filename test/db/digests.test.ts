// The digest of a block: the same for the same facts, however they came, and another for every other fact.
import fc from "fast-check";
import type { Client } from "../../db/connect.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { compareDigests, digestsOf } from "../digests.ts";
import {
  aHash,
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  registerMarkets,
  registerPair,
  registerTokens,
  setHead,
  WETH,
  write,
} from "../factories.ts";
import { block } from "../histories.ts";
import { makeDatabase } from "../database.ts";
import { useOwned } from "../served.ts";
import { runFile } from "../service.ts";
import { loadable, written } from "../written.ts";

const BOOK = anAddress("book");
const ZEROS = "0".repeat(64);
const ORDER = 2 ** 30;

const { owner } = useOwned();

/** Undoes what a test writes. */
beforeEach(() => owner.query("begin"));
afterEach(() => owner.query("rollback"));

const recordedDigests = async (): Promise<(string | null)[]> =>
  (await digestsOf(owner)).map(({ recorded }) => recorded);

const wrongBlocks = async (): Promise<number[]> => {
  const { rows } = await owner.query<{ number: number }>(
    "select number from dex_private.misdigested_block order by number",
  );
  return rows.map(({ number }) => number);
};

describe("of blocks with every kind of facts", () => {
  beforeEach(async () => {
    await registerMarkets(owner);
    await owner.query("select ingest.offer_ids($1, $2, $3)", [
      [BOOK, BOOK],
      ["7", "8"],
      [blockAt(1), blockAt(2)],
    ]);
    await write(owner, {
      offers: [
        anOffer({ id: 1, hour: 1, venue: anAddress("first"), killed: blockAt(3) }),
        anOffer({ id: ORDER, hour: 1, venue: BOOK }),
        anOffer({ id: 2, hour: 2, filled: true, killed: blockAt(2) }),
      ],
      trades: [
        aTrade({ hour: 2, offer_id: 1, idx: 4 }),
        aTrade({ hour: 2, offer_id: ORDER + 1, idx: 5, venue: BOOK }),
        aTrade({ hour: 2, offer_id: null, idx: 6 }),
      ],
      head: 4,
    });
  });

  it("is that of an independent computation, and of the block before where a block has no rows", async () => {
    await compareDigests(owner);
    const [first, second, third, head] = await recordedDigests();
    expect(new Set([first, second, third]).size).toBe(3);
    expect(head).toBe(third);
    expect(await verify(owner)).toEqual([]);
  });

  it.each([
    ["dex_block", `hash = '${aHash("other")}'`, "number = 3600"],
    ["dex_block", "time = time + interval '1 microsecond'", "number = 3600"],
    ["dex_offer", "id = 3", "id = 1"],
    ["dex_offer", "ref = '9'", `id = ${ORDER}`],
    ["dex_offer", "ref = null", `id = ${ORDER}`],
    ["dex_offer", "maker = lot_gem", "id = 1"],
    ["dex_offer", `pair = '${aHash("other")}'`, "id = 1"],
    ["dex_offer", "lot_gem = maker", "id = 1"],
    ["dex_offer", "lot_amt = lot_amt + 0.000000000000000001", "id = 1"],
    ["dex_offer", "bid_gem = maker", "id = 1"],
    ["dex_offer", "bid_amt = bid_amt + 0.000000000000000001", "id = 1"],
    ["dex_offer", `tx = '${aHash("other")}'`, "id = 1"],
    ["dex_offer", "venue = null", "id = 1"],
    ["dex_offer", "venue = maker", "id = 1"],
    ["dex_offer", "closed = true", "id = 1"],
    ["dex_trade", "idx = 7", "block = 7200 and idx = 6", 7200],
    ["dex_trade", "offer_id = 2", "idx = 4", 7200],
    ["dex_trade", "offer_id = null", "idx = 4", 7200],
    ["dex_trade", `offer_id = ${ORDER}`, "idx = 5", 7200],
    ["dex_trade", "maker = taker", "idx = 4", 7200],
    ["dex_trade", "taker = maker", "idx = 4", 7200],
    ["dex_trade", `pair = '${aHash("other")}'`, "idx = 4", 7200],
    ["dex_trade", "lot_gem = maker", "idx = 4", 7200],
    ["dex_trade", "lot_amt = lot_amt + 0.000000000000000001", "idx = 4", 7200],
    ["dex_trade", "bid_gem = maker", "idx = 4", 7200],
    ["dex_trade", "bid_amt = bid_amt + 0.000000000000000001", "idx = 4", 7200],
    ["dex_trade", `tx = '${aHash("other")}'`, "idx = 4", 7200],
    ["dex_trade", "venue = maker", "idx = 4", 7200],
    ["dex_trade", "block = 10800", "idx = 4", 7200],
    ["dex_private.cancellation", "offer_id = 3", "offer_id = 1", 10800],
    ["dex_private.offer_ref", "ref = '9'", `offer_id = ${ORDER + 1}`, 7200],
    ["dex_private.offer_ref", "venue = '0x'", `offer_id = ${ORDER + 1}`, 7200],
  ])("is wrong after update %s set %s where %s", async (table, change, where, number = 3600) => {
    await owner.query(`update ${table} set ${change} where ${where}`);
    expect(await wrongBlocks()).toEqual([number]);
    const found = await verify(owner);
    expect(found.map(({ row }) => row)).toContain(`dex_block ${number}`);
  });

  it.each([
    ["a row that was deleted", "delete from dex_trade where idx = 6", [7200]],
    ["an offer that was deleted", "delete from dex_offer where id = 1", [3600]],
    [
      "a cancellation that was deleted",
      "delete from dex_private.cancellation where block = 10800",
      [10800],
    ],
    [
      "a cancellation of another block",
      "update dex_private.cancellation set block = 10800 where block = 7200",
      [7200, 10800],
    ],
    [
      "an offer of another block",
      "update dex_offer set block = 7200, ended = null, killed = 0 where id = 1",
      [3600, 7200],
    ],
    [
      "a digest that was changed, and the one after it",
      "update dex_block set digest = sha256('') where number = 7200",
      [7200, 10800],
    ],
    [
      "a digest that is missing, and the one after it",
      "update dex_block set digest = null where number = 7200",
      [7200, 10800],
    ],
    [
      "blocks that are missing: the one after them",
      "delete from dex_block where number = 3600",
      [7200],
    ],
  ])("names %s", async (_what, damage, numbers) => {
    await owner.query(damage);
    expect(await wrongBlocks()).toEqual(numbers);
  });

  it.each([
    "update dex_offer set maker = lower(maker), lot_gem = lower(lot_gem), venue = lower(venue)",
    "update dex_trade set taker = lower(taker), bid_gem = upper(bid_gem) where false",
    "update dex_trade set maker = lower(maker), taker = lower(taker), bid_gem = lower(bid_gem), venue = lower(venue)",
    "update dex_trade set market = null, market_id = null, act = null, lot_tkn = 'X', bid_tkn = null, price = 9",
    "update dex_offer set market = null, market_id = null, act = null, lot_tkn = 'X', bid_tkn = null, price = 9",
    "update dex_private.offer_ref set venue = lower(venue)",
  ])("is right after labels and letter case alone have changed: %s", async (change) => {
    await owner.query(change);
    expect(await wrongBlocks()).toEqual([]);
  });

  it("is not changed by registrations, nor by a rebuild", async () => {
    const before = await recordedDigests();
    await registerTokens(owner, { address: WETH, symbol: "WETHER", decimals: 6 });
    await registerPair(owner, DAI, WETH);
    await owner.query("select ingest.rebuild()");
    expect(await recordedDigests()).toEqual(before);
    expect(await wrongBlocks()).toEqual([]);
  });

  it("is the old one again after blocks are taken back, and the same where they are written again", async () => {
    const [first, second, third] = await recordedDigests();
    const again = [aTrade({ hour: 3, offer_id: 1, idx: 0 })];
    await owner.query("select ingest.take_back($1)", [blockAt(2.5)]);
    expect(await recordedDigests()).toEqual([first, second]);
    await write(owner, { trades: again });
    expect((await recordedDigests())[2]).not.toBe(third);
    await owner.query("select ingest.take_back($1)", [blockAt(2)]);
    await owner.query("select ingest.write_block($1, $2, killed => '{1}')", [
      blockAt(3),
      "2026-01-01T03:00:00Z",
    ]);
    expect(await recordedDigests()).toEqual([first, second, third]);
    await owner.query("select ingest.take_back(-1)");
    await setHead(owner, 5);
    expect(await recordedDigests()).toEqual([ZEROS]);
  });

  it("is made in batches for blocks that came without one, and follows none that is missing", async () => {
    const before = await recordedDigests();
    await owner.query("update dex_block set digest = null");
    await write(owner, { trades: [aTrade({ hour: 5, offer_id: null })] });
    expect(new Set(await recordedDigests())).toEqual(new Set([null]));
    expect((await verify(owner)).map(({ row }) => row)).toEqual(["dex_block 3600"]);

    const filled: number[] = [];
    for (let last = -1; last !== 0; filled.push(last)) {
      const { rows } = await owner.query<{ filled: number }>(
        "select ingest.fill_digests(2) as filled",
      );
      last = rows[0]!.filled;
    }
    // Four blocks: the one without rows is removed.
    expect(filled).toEqual([2, 2, 0]);
    expect((await recordedDigests()).slice(0, 3)).toEqual(before.slice(0, 3));
    await compareDigests(owner);
    expect(await verify(owner)).toEqual([]);
  });
});

it("no ref makes a line that other facts have", async () => {
  const ref = fc.oneof(
    fc.constantFrom(
      "7",
      "7 8",
      '"',
      "\\",
      "7\ncancel 5",
      '7"\ncancel 5',
      " 7",
      "7\t",
      "7\u2028",
      "é",
      "-",
    ),
    fc
      .string({ minLength: 1, maxLength: 100, unit: "binary" })
      .filter((text) => /[!-~]/.test(text) && !text.includes("\0")),
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(ref, { minLength: 1, maxLength: 5 }), async (refs) => {
      await owner.query("savepoint before");
      const { rows } = await owner.query<{ ids: number[] }>(
        "select ingest.offer_ids($1, $2, $3) as ids",
        [refs.map(() => BOOK), refs, refs.map(() => 1)],
      );
      await owner.query("select ingest.write_block(1, '2026-01-01T00:00:00Z', killed => $1)", [
        rows[0]!.ids,
      ]);
      const { rows: lines } = await owner.query<{ line: string }>(
        "select line from dex_private.fact_lines(1, 1, 1, 0) as fact",
      );
      const prefix = `cancel ${BOOK.toLowerCase()}:`;
      const read = lines.map(({ line }) => {
        expect(line.startsWith(prefix)).toBe(true);
        expect(line).not.toContain("\n");
        return JSON.parse(line.slice(prefix.length)) as string;
      });
      expect(read.sort()).toEqual([...refs].sort());
      await compareDigests(owner);
      await owner.query("rollback to savepoint before");
    }),
    { numRuns: 50 },
  );
});

/** By block, of those that have rows: files have no others. */
async function digestsAfter(client: Client, fill: () => Promise<void>): Promise<unknown> {
  await client.query("savepoint before");
  try {
    await fill();
    await compareDigests(client);
    const { rows } = await client.query(
      "select number, encode(digest, 'hex') as digest from dex_block where has_rows order by number",
    );
    return rows;
  } finally {
    await client.query("rollback to savepoint before");
  }
}

it("is the same at every block, however the same facts were written", async () => {
  const steps = fc.array(block, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const { exchange, blocks } = loadable(history);
      const hasRows = exchange.recording.offers.length + exchange.recording.trades.length > 0;
      fc.pre(hasRows);
      const found: unknown[] = [];
      for (const fill of Object.values(written)) {
        found.push(await digestsAfter(owner, () => fill(owner, blocks, exchange)));
      }
      const [first, ...others] = found;
      for (const other of others) expect(other).toEqual(first);
    }),
    { numRuns: 20 },
  );
});

it("npm run db:digests makes those that are missing, and refuses a batch of none", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [1, 2, 3, 4, 5].map((hour) => aTrade({ hour })) });
  await database.owner.query("update dex_block set digest = null where number > 3600");
  const run = (...args: string[]) =>
    runFile("db/commands/digests.ts", { DATABASE_OWNER_URL: database.url }, args).ended;
  expect(await run("--batch", "3", "--pause", "0")).toMatchObject({
    code: 0,
    stdout: "4 blocks got a digest.\n",
  });
  await compareDigests(database.owner);
  expect(await run("--batch", "0")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--batch is an integer from 1 to 100000, not "0"') as string,
  });
});
