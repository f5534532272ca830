// The write functions of the schema ingest: valid blocks, rejected blocks with the element named and nothing
// written, and the invariants of ids and blocks after removals.
import { verify } from "../../db/verify/verify-database.ts";
import { contentsOf } from "../database-contents.ts";
import {
  aHash,
  anAddress,
  anOffer,
  aTrade,
  DAI,
  MKR,
  registerMarkets,
  WETH,
  write,
} from "../factories.ts";
import { useClient, useDatabase } from "../served.ts";

const database = useDatabase();
const writer = useClient(database, "dex_writer");
const owner = useClient(database, "dex_owner");

const HASH = aHash("the head");
let isHashed = false;
const AT = "2026-01-01T00:01:40Z";

/** A trade without the columns of its block. */
function trade(columns: Record<string, unknown> = {}): Record<string, unknown> {
  const { block: _b, time: _t, idx: _i, ...row } = aTrade();
  return { ...row, ...columns };
}

/** An offer without the columns of its block. */
function offer(columns: Record<string, unknown> = {}): Record<string, unknown> {
  const { block: _b, time: _t, killed: _k, filled: _f, ...row } = anOffer();
  return { ...row, ...columns };
}

const without = (row: Record<string, unknown>, column: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name !== column));

interface Given {
  number?: unknown;
  at?: unknown;
  hash?: unknown;
  parent?: unknown;
  offers?: unknown;
  trades?: unknown;
  killed?: unknown;
}

/** Writes block 101 by default, with a hash where the head has one. Offers and trades are converted to JSON; a string is sent unchanged. */
async function block({
  number = 101,
  at = AT,
  hash = isHashed ? aHash(String(number)) : null,
  parent = null,
  offers = [],
  trades = [],
  killed = [],
}: Given): Promise<void> {
  const json = (given: unknown): unknown =>
    given === null || typeof given === "string" ? given : JSON.stringify(given);
  await writer.query("select ingest.write_block($1, $2, $3, $4, $5, $6, $7)", [
    number,
    at,
    hash,
    parent,
    json(offers),
    json(trades),
    killed,
  ]);
}

const takeBack = async (to: unknown): Promise<number> => {
  const { rows } = await writer.query<{ trades: string }>("select ingest.take_back($1) as trades", [
    to,
  ]);
  return Number(rows[0]!.trades);
};

const ids = async (): Promise<number[]> => {
  const { rows } = await owner.query<{ id: string }>("select id from dex_trade order by id");
  return rows.map(({ id }) => Number(id));
};

const blocks = async (): Promise<number[]> => {
  const { rows } = await owner.query<{ number: number }>(
    "select number from dex_block order by number",
  );
  return rows.map(({ number }) => number);
};

const head = async (): Promise<unknown> => (await owner.query("select block from dex_head")).rows;

/** Expects this error message and unchanged tables. */
async function expectRefused(
  write: () => Promise<unknown>,
  message: string | RegExp,
  code = "22023",
) {
  const before = await contentsOf(owner);
  const error = await write().then(
    () => undefined,
    (refusal: unknown) => refusal as { message: string; code: string },
  );
  if (message instanceof RegExp) expect(error?.message).toMatch(message);
  else expect(error?.message).toBe(message);
  expect(error?.code).toBe(code);
  expect(error!.message.length).toBeLessThan(500);
  expect(await contentsOf(owner)).toEqual(before);
}

const inCapitals = (address: string): string => `0x${address.slice(2).toUpperCase()}`;

const KNOWN = trade({ tx: aHash("known"), idx: 4 });

const begin = async (): Promise<void> => {
  await database.empty();
  await registerMarkets(database.writer);
};

/** Block 100 has a trade, offers 1 and 2, and a cancellation of 2 and of 70. */
async function beginAt100(hash: string | null): Promise<void> {
  await begin();
  isHashed = hash !== null;
  await block({
    number: 100,
    hash,
    offers: [offer({ id: 1 }), offer({ id: 2 })],
    trades: [KNOWN],
    killed: [2, 70],
  });
}

const expectVerified = async (): Promise<void> => {
  expect(await verify(owner)).toEqual([]);
};

describe("after block 100 with a trade, offers 1 and 2, and cancellations of 2 and 70", () => {
  // A rejected write changes nothing, so all cases share one setup.
  beforeAll(() => beginAt100(HASH));
  afterAll(expectVerified);
  afterAll(() => {
    isHashed = false;
  });

  const HEX64 = "0x and 64 hex digits in lower case";
  const IN_ORDER =
    "write blocks in order, take back first what a reorganisation replaces, and load older data whole into a new database";
  const YEARS = "its time must be a timestamp of the years 1 to 9999";
  it.each<[string, Given, string | RegExp, string?]>([
    [
      "the hash of another block",
      { hash: HASH },
      `block 101 has the hash ${HASH}, which is that of block 100: a hash is one block's`,
    ],
    ["an older block", { number: 99 }, `block 99 is not after the head, block 100: ${IN_ORDER}`],
    ["the same block", { number: 100 }, `block 100 is not after the head, block 100: ${IN_ORDER}`],
    [
      "a block without a number",
      { number: null },
      "number is null: it must be an integer from 0 to 2147483646",
    ],
    ["a block below 0", { number: -1 }, "number is -1: it must be an integer from 0 to 2147483646"],
    [
      "a block that none can follow",
      { number: 2147483647 },
      "number is 2147483647: it must be an integer from 0 to 2147483646",
    ],
    ["a block without a time", { at: null }, `block 101 is at null: ${YEARS}`],
    ["a block at infinity", { at: "infinity" }, `block 101 is at infinity: ${YEARS}`],
    ["a block at -infinity", { at: "-infinity" }, `block 101 is at -infinity: ${YEARS}`],
    [
      "a block at the end of PostgreSQL's time",
      { at: "294276-12-31T23:59:59Z" },
      `block 101 is at 294276-12-31 23:59:59+00: ${YEARS}`,
    ],
    [
      "a block at the beginning of PostgreSQL's time",
      { at: "4713-11-24 00:00:00+00 BC" },
      `block 101 is at 4713-11-24 00:00:00+00 BC: ${YEARS}`,
    ],
    [
      "a block before the head's time",
      { at: "2026-01-01T00:01:39.999999Z" },
      "block 101 is at 2026-01-01 00:01:39.999999+00, before block 100 at 2026-01-01 00:01:40+00",
    ],
    [
      "a block with another parent",
      { parent: aHash("elsewhere") },
      `block 101 has the parent ${aHash("elsewhere")}, but block 100 has the hash ${HASH}: take back first what a reorganisation replaces`,
    ],
    [
      "a block without a hash after one that has it",
      { hash: null },
      "block 101 has no hash, but block 100 has one: a source gives the hash of every block or of none",
    ],
    [
      "a block behind a gap",
      { number: 105, parent: aHash("104") },
      `block 105 has the parent ${aHash("104")}, but the last block before it is block 100 with the hash ${HASH}: a block between them is missing`,
    ],
    [
      "a block with a bad hash",
      { hash: "0x12" },
      `block 101 has the hash 0x12: it must be ${HEX64}`,
    ],
    [
      "a block with a hash in upper case",
      { hash: `0x${"A".repeat(64)}` },
      `block 101 has the hash 0x${"A".repeat(64)}: it must be ${HEX64}`,
    ],
    [
      "a block with a hash of 1 MB",
      { hash: "0".repeat(1_000_000) },
      `block 101 has the hash ${"0".repeat(90)}: it must be ${HEX64}`,
    ],
    [
      "a block with a bad parent",
      { parent: "x" },
      `block 101 has the parent x: it must be ${HEX64}`,
    ],
  ])("%s is rejected", async (_name, given, message) => {
    await expectRefused(() => block({ trades: [trade()], offers: [offer()], ...given }), message);
  });

  it.each<[string, Given, string | RegExp, string?]>([
    ["an object as offers", { offers: {} }, "offers is {}: it must be a JSON array"],
    ["an object as trades", { trades: { a: 1 } }, 'trades is {"a": 1}: it must be a JSON array'],
    ["a string as trades", { trades: '"[]"' }, 'trades is "[]": it must be a JSON array'],
    ["JSON's null as trades", { trades: "null" }, "trades is null: it must be a JSON array"],
    ["SQL null as trades", { trades: null }, "trades is null: it must be a JSON array"],
    ["SQL null as offers", { offers: null }, "offers is null: it must be a JSON array"],
    ["SQL null as cancellations", { killed: null }, "killed is null: it must be an array"],
    ["null as a trade", { trades: [trade(), null] }, "trades[1] is null: it must be an object"],
    ["null as an offer", { offers: [null] }, "offers[0] is null: it must be an object"],
    [
      "an array as a trade",
      { trades: [[trade()]] },
      /^trades\[0\] is \[\{.*: it must be an object$/,
    ],
    [
      "an unknown column",
      { trades: [trade({ Maker: WETH, price: "1" })] },
      'trades[0] has the unknown columns "Maker", price: it may have id, offer_id, pair, maker, taker, lot_gem, ' +
        "lot_amt, bid_gem, bid_amt, tx, idx, block, time, venue",
    ],
    [
      "an unknown column with a name of 1 MB",
      { offers: [offer({ ["x".repeat(1_000_000)]: 1 })] },
      `offers[0] has the unknown columns ${"x".repeat(90)}: it may have id, pair, maker, lot_gem, lot_amt, bid_gem, ` +
        "bid_amt, tx, filled, block, time, venue",
    ],
    [
      "a trade of another block",
      { trades: [trade(), trade({ block: 100 })] },
      "trades[1].block is 100: it must be 101, the block that is written",
    ],
    [
      "an offer of another block",
      { offers: [offer({ block: 102 })] },
      "offers[0].block is 102: it must be 101, the block that is written",
    ],
    [
      "a trade of another time",
      { trades: [trade({ time: "2026-01-01T00:01:41Z" })] },
      "trades[0].time is 2026-01-01T00:01:41Z: it must be 2026-01-01 00:01:40+00, the time of the block",
    ],
    [
      "a trade with an invalid time",
      { trades: [trade({ time: "2026-02-31T00:00:00Z" })] },
      'trades[0].time is "2026-02-31T00:00:00Z": it must be a timestamp with its UTC offset',
    ],
    [
      "a trade at now",
      { trades: [trade({ time: "now" })] },
      'trades[0].time is "now": it must be a timestamp with its UTC offset',
    ],
    [
      "a trade with filled",
      { trades: [trade({ filled: true })] },
      /^trades\[0\] has the unknown columns filled: it may have /,
    ],
    [
      "an offer with filled as text",
      { offers: [offer({ filled: "yes" })] },
      'offers[0].filled is "yes": it must be true or false',
    ],
    [
      "an offer without an id",
      { offers: [without(offer(), "id")] },
      "offers[0].id is missing: it must be an integer from 0 to 2147483647",
    ],
    [
      "an offer with an id beyond 32 bits",
      { offers: [offer({ id: 2_147_483_648 })] },
      "offers[0].id is 2147483648: it must be an integer from 0 to 2147483647",
    ],
    [
      "a trade with an id that JSON cannot represent exactly",
      { trades: [trade({ id: "9007199254740992" })] },
      'trades[0].id is "9007199254740992": it must be an integer from 1 to 4503599627370495',
    ],
    [
      "a trade with an id that leaves less than 2^52 ids",
      { trades: [trade({ id: "4503599627370496" })] },
      'trades[0].id is "4503599627370496": it must be an integer from 1 to 4503599627370495',
    ],
    [
      "an idx with a leading zero",
      { trades: [trade({ idx: "01" })] },
      'trades[0].idx is "01": it must be an integer from 0 to 2147483647',
    ],
    [
      "one idx twice",
      { trades: [trade({ idx: 3 }), trade({ idx: 3 })] },
      "trades: idx 3 is given 2 times: it is the log's, of which a block has one",
    ],
    [
      "a trade of an offer that an earlier block cancelled",
      { trades: [trade({ idx: 3, offer_id: 2, tx: aHash("late") })] },
      `trade with tx ${aHash("late")}, idx 3: its offer 2 was cancelled in block 100, before its block 101`,
    ],
    [
      "a trade of an unrecorded offer that an earlier block cancelled",
      { trades: [trade({ idx: 3, offer_id: 70, tx: aHash("late") })] },
      `trade with tx ${aHash("late")}, idx 3: its offer 70 was cancelled in block 100, before its block 101`,
    ],
    [
      "a trade with another pair hash than its offer",
      { trades: [trade({ idx: 3, tx: aHash("late"), pair: HASH })] },
      `trade with tx ${aHash("late")}, idx 3: its pair is ${HASH}, but that of its offer 1 is ${trade()["pair"] as string}`,
    ],
    [
      "a trade of one token",
      { trades: [trade({ bid_gem: inCapitals(WETH) })] },
      `trades[0].bid_gem is "${inCapitals(WETH)}", as lot_gem: an offer is of two tokens`,
    ],
    [
      "an offer of one token",
      { offers: [offer({ bid_gem: WETH })] },
      `offers[0].bid_gem is "${WETH}", as lot_gem: an offer is of two tokens`,
    ],
    [
      "a trade at a time without an offset",
      { trades: [trade({ time: "2026-01-01T00:01:40" })] },
      'trades[0].time is "2026-01-01T00:01:40": it must be a timestamp with its UTC offset',
    ],
    [
      "a trade with an idx below 0",
      { trades: [trade({ idx: -1 })] },
      "trades[0].idx is -1: it must be an integer from 0 to 2147483647",
    ],
    [
      "ids on only some trades",
      { trades: [trade({ id: 10 }), trade()] },
      "trades: 1 of 2 have an id and 0 an idx: give it to every trade of a block or to none",
    ],
    [
      "idx on only some trades",
      { trades: [trade(), trade({ idx: 3 }), trade({ idx: null })] },
      "trades: 0 of 3 have an id and 1 an idx: give it to every trade of a block or to none",
    ],
    [
      "an id that was used before",
      { trades: [trade({ id: 1 })] },
      "trades: ids must increase with idx and be greater than 1, the highest id ever used",
    ],
    [
      "decreasing ids",
      { trades: [trade({ id: 12 }), trade({ id: 11 })] },
      "trades: ids must increase with idx and be greater than 1, the highest id ever used",
    ],
    [
      "ids that decrease as idx increases",
      { trades: [trade({ id: 11, idx: 2 }), trade({ id: 12, idx: 1 })] },
      "trades: ids must increase with idx and be greater than 1, the highest id ever used",
    ],
    [
      "a duplicate id",
      { trades: [trade({ id: 11 }), trade({ id: 11 })] },
      "trades: ids must increase with idx and be greater than 1, the highest id ever used",
    ],
    [
      "a trade that is in the database",
      { trades: [trade({ idx: 1 }), KNOWN] },
      `trades[1] exists already: tx ${aHash("known")}, idx 4`,
      "23505",
    ],
    [
      "a duplicate trade",
      { trades: [trade({ tx: HASH, idx: 3 }), trade({ tx: HASH, idx: 3 })] },
      `trades[1] exists already: tx ${HASH}, idx 3`,
      "23505",
    ],
    [
      "an offer that is in the database",
      { offers: [offer(), offer({ id: 1 })] },
      "offers[1]: offer 1 exists already",
      "23505",
    ],
    [
      "a duplicate offer",
      { offers: [offer({ id: 8 }), offer({ id: 8 })] },
      "offers[1]: offer 8 exists already",
      "23505",
    ],
    [
      "an offer that was already cancelled",
      { offers: [offer({ id: 70 })] },
      "offers[0]: offer 70 was cancelled in block 100",
      "23505",
    ],
    ["null as a cancellation", { killed: [1, null] }, "killed: an offer id is null"],
    [
      "a cancellation of a negative id",
      { killed: [-5] },
      "killed: offer -5: an id is an integer from 0",
    ],
    [
      "cancellations in two dimensions",
      { killed: [[1], [5]] },
      "killed has 2 dimensions: it must be an array of one",
    ],
    ...(["maker", "lot_gem", "bid_gem"] as const).flatMap((column) =>
      [1, 8].map((id): [string, Given, RegExp] => [
        `a trade with another ${column} than its offer ${id}`,
        {
          offers: [offer({ id: 8 })],
          trades: [trade({ idx: 3 }), trade({ idx: 4, offer_id: id, [column]: MKR })],
        },
        new RegExp(
          `^trade with tx 0x\\w{64}, idx 4: its ${column} is ${MKR}, but that of its offer ${id} is 0x\\w{40}$`,
        ),
      ]),
    ),
    [
      "a trade of another venue than its offer",
      {
        offers: [offer({ id: 8, venue: WETH })],
        trades: [
          trade({ idx: 3, offer_id: 8, venue: WETH }),
          trade({ idx: 4, offer_id: 8, venue: MKR }),
        ],
      },
      new RegExp(`idx 4: its venue is ${MKR}, but that of its offer 8 is ${WETH}$`),
    ],
    [
      "a venue that is no address",
      { trades: [trade({ venue: "pool" })] },
      /^trades\[0\]\.venue is/,
    ],
    ["a duplicate cancellation", { killed: [1, 5, 1] }, "killed: offer 1 is listed twice"],
    [
      "a second cancellation of an offer",
      { killed: [1, 2] },
      "killed: offer 2 was cancelled in block 100",
    ],
    [
      "a second cancellation of an unknown offer",
      { killed: [70] },
      "killed: offer 70 was cancelled in block 100",
    ],
  ])("a block with %s is rejected", async (_name, given, message, ...[code]) => {
    const whole = { trades: [trade({ idx: 900 })], offers: [offer()], ...given };
    await expectRefused(() => block(whole), message, code);
  });

  const AMOUNT =
    "it must be a decimal string from 0 to below 10^78 with at most 18 fractional digits";
  const BYTES = "1".repeat(1_000_000);
  describe.each(["lot_amt", "bid_amt"])("the amount %s", (column) => {
    it.each<[string, unknown, string]>([
      ["19 fractional digits", "0.0000000000000000001", '"0.0000000000000000001"'],
      ["79 digits", "1".repeat(79), `"${"1".repeat(79)}"`],
      ["a negative number", "-1", '"-1"'],
      ["NaN", "NaN", '"NaN"'],
      ["infinity", "Infinity", '"Infinity"'],
      ["an exponent", "1e3", '"1e3"'],
      ["a sign", "+1", '"+1"'],
      ["a space", "1 ", '"1 "'],
      ["a line break after it", "1\n", '"1\\n"'],
      ["no digits", ".", '"."'],
      ["no digits after the point", "1.", '"1."'],
      ["nothing", "", '""'],
      ["digits of another script", "٣", '"٣"'],
      ["a JSON number", 1.5, "1.5"],
      ["true", true, "true"],
      ["an array", ["1"], '["1"]'],
      ["null", null, "null"],
      ["1 MB", BYTES, `"${BYTES.slice(0, 89)}`],
      ["1 MB of zeros after the point", `0.${"0".repeat(1_000_000)}`, `"0.${"0".repeat(87)}`],
    ])("with %s is rejected", async (_name, value, shown) => {
      const problem = `.${column} is ${shown}: ${AMOUNT}`;
      await expectRefused(
        () => block({ trades: [trade(), trade({ [column]: value })] }),
        `trades[1]${problem}`,
      );
      await expectRefused(
        () => block({ offers: [offer({ [column]: value })], trades: [trade()] }),
        `offers[0]${problem}`,
      );
    });

    it("is rejected if it is missing", async () => {
      await expectRefused(
        () => block({ trades: [without(trade(), column)] }),
        `trades[0].${column} is missing: ${AMOUNT}`,
      );
    });
  });

  const ADDRESS = "it must be 0x and 40 hex digits";
  const OF_HASH = `it must be ${HEX64}`;
  it.each([
    ...["maker", "taker", "lot_gem", "bid_gem"].flatMap((column) =>
      ["0x12", `1x${"0".repeat(40)}`, `0x${"g".repeat(40)}`, 12, "0".repeat(1_000_000)].map(
        (value) => [column, value, ADDRESS] as const,
      ),
    ),
    ...["tx", "pair"].flatMap((column) =>
      ["x", `0x${"A".repeat(64)}`, `0x${"0".repeat(63)}`, "0".repeat(1_000_000)].map(
        (value) => [column, value, OF_HASH] as const,
      ),
    ),
    ["offer_id", "one", "it must be an integer from 0 to 2147483647"] as const,
    ["offer_id", 1.5, "it must be an integer from 0 to 2147483647"] as const,
  ])("an invalid %s is rejected", async (column, value, accepted) => {
    const shown = JSON.stringify(value).slice(0, 90);
    await expectRefused(
      () => block({ trades: [trade({ [column]: value })] }),
      `trades[0].${column} is ${shown}: ${accepted}`,
    );
    if (column === "taker" || column === "offer_id") return;
    await expectRefused(
      () => block({ offers: [offer({ [column]: value })] }),
      `offers[0].${column} is ${shown}: ${accepted}`,
    );
  });

  it.each(["pair", "maker", "taker", "lot_gem", "bid_gem", "tx"])(
    "a trade without %s is rejected",
    async (column) => {
      await expectRefused(
        () => block({ trades: [without(trade(), column)] }),
        new RegExp(`^trades\\[0\\]\\.${column} is missing: it must be `),
      );
    },
  );
});

describe("after block 100", () => {
  beforeEach(() => beginAt100(null));
  afterEach(expectVerified);

  it("a rejected block is written after it is corrected", async () => {
    await expect(block({ trades: [trade({ lot_amt: "-1" })] })).rejects.toThrow(
      "trades[0].lot_amt",
    );
    await block({ trades: [trade({ lot_amt: "1" })], killed: [1] });
    expect(await head()).toEqual([{ block: 101 }]);
    expect(await ids()).toEqual([1, 2]);
  });

  describe("take_back", () => {
    it.each([
      ["null", null, "to_block is null: it must be an integer from 0, or -1 for all blocks"],
      [
        "a block below -1",
        -2,
        "to_block is -2: it must be an integer from 0, or -1 for all blocks",
      ],
      ["a block after the head", 101, "block 101 is not written: the head is block 100"],
    ])("with %s is rejected", async (_name, to, message) => {
      await expectRefused(() => takeBack(to), message);
    });

    it("to the head changes nothing", async () => {
      const before = await contentsOf(owner);
      expect(await takeBack(100)).toBe(0);
      expect(await contentsOf(owner)).toEqual(before);
    });

    it("to a block before the first leaves no head", async () => {
      expect(await takeBack(50)).toBe(1);
      expect(await head()).toEqual([]);
      await expectRefused(() => takeBack(0), "block 0 is not written: the database has no blocks");
      for (const table of ["dex_block", "dex_offer", "dex_trade", "dex_private.cancellation"]) {
        expect([table, (await owner.query(`select from ${table}`)).rowCount]).toEqual([table, 0]);
      }
    });

    it("allows any next block, of any time and parent, after all blocks are removed", async () => {
      await takeBack(0);
      await block({ number: 3, at: "2020-01-01T00:00:00Z", parent: HASH, trades: [trade()] });
      expect(await head()).toEqual([{ block: 3 }]);
    });
  });

  it("ids are never reused, even after removals", async () => {
    await block({ number: 101, trades: [trade(), trade()] });
    expect(await ids()).toEqual([1, 2, 3]);
    expect(await takeBack(100)).toBe(2);
    await block({ number: 101, trades: [trade()] });
    expect(await ids()).toEqual([1, 4]);
    expect(await takeBack(0)).toBe(2);
    await expectRefused(
      () => block({ trades: [trade({ id: 4 })] }),
      "trades: ids must increase with idx and be greater than 4, the highest id ever used",
    );
    await block({ number: 50, trades: [trade({ id: 9 })] });
    await block({ number: 51, trades: [trade()] });
    expect(await ids()).toEqual([9, 10]);
  });

  it("trades continue after the highest id that can be given", async () => {
    await block({ number: 101, trades: [trade({ id: "4503599627370495" })] });
    await block({ number: 102, trades: [trade()] });
    expect(await ids()).toEqual([1, 4503599627370495, 4503599627370496]);
  });

  const stagedTrade = (columns: Record<string, unknown>): string => {
    const row = { ...trade(columns), line: 7, block: 101, time: AT };
    const values = Object.values(row).map((value) => `'${String(value)}'`);
    return `insert into ingest.staged_trade (${Object.keys(row).join(", ")}) values (${values.join(", ")})`;
  };

  it.each<[string, string, string]>([
    [
      "blocks with two hashes",
      `insert into ingest.staged_block values
        (101, '${AT}', '${aHash("a")}', null),
        (101, '${AT}', '${aHash("b")}', null)`,
      "block 101 has both the hash ",
    ],
    [
      "a maker that is not hex",
      stagedTrade({ maker: `0x${"g".repeat(40)}` }),
      `trades line 7.maker is "0xg`,
    ],
    [
      "a hash that is not hex",
      stagedTrade({ tx: `0x${"g".repeat(64)}` }),
      `trades line 7.tx is "0xg`,
    ],
    [
      "an address that is too short",
      stagedTrade({ lot_gem: "0x12" }),
      'trades line 7.lot_gem is "0x12": it must be',
    ],
    [
      "19 fractional digits",
      stagedTrade({ lot_amt: "0.0000000000000000001" }),
      "trades line 7.lot_amt is ",
    ],
    [
      "NaN as an amount",
      stagedTrade({ bid_amt: "NaN" }),
      'trades line 7.bid_amt is "NaN": it must be',
    ],
    [
      "an offer of a maker that is not hex",
      `insert into ingest.staged_offer (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx)
      values (8, 9, '${HASH}', '0xzz', '${WETH}', 1, '${DAI}', 1, 101, '${AT}', '${HASH}')`,
      'offers line 8.maker is "0xzz": it must be',
    ],
    [
      "an offer with a negative id",
      `insert into ingest.staged_offer (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx)
      values (8, -9, '${HASH}', '${MKR}', '${WETH}', 1, '${DAI}', 1, 101, '${AT}', '${HASH}')`,
      'offers line 8.id is "-9": it must be an integer from 0 to 2147483647',
    ],
    [
      "a trade of an offer with a negative id",
      stagedTrade({ tx: HASH, offer_id: -9 }),
      'trades line 7.offer_id is "-9": it must be an integer from 0 to 2147483647',
    ],
    [
      "a block hash that is not hex",
      `insert into ingest.staged_block values (101, '${AT}', '0x${"g".repeat(64)}')`,
      "block 101 has the hash 0xg",
    ],
    [
      "two staged blocks with one hash",
      `insert into ingest.staged_block values (101, '${AT}', '${HASH}'), (102, '${AT}', '${HASH}')`,
      `block 102 has the hash ${HASH}, which is that of block 101: a hash is one block's`,
    ],
    [
      "a block of the year 294276",
      "insert into ingest.staged_block values (101, '294276-12-31T23:59:59Z')",
      "block 101 is at 294276-12-31 23:59:59+00: its time must be a timestamp of the years 1 to 9999",
    ],
    [
      "a trade with an id that leaves less than 2^52 ids",
      stagedTrade({ id: "4503599627370496" }),
      "trades line 7.id is 4503599627370496: it must be an integer from 1 to 4503599627370495",
    ],
    [
      "one idx twice",
      `${stagedTrade({ idx: 3 })}; ${stagedTrade({ idx: 3 }).replace("'7'", "'9'")}`,
      "trades line 9.idx is 3, as in line 7: it is the log's, of which block 101 has one",
    ],
    [
      "a trade of an offer that an earlier block cancelled",
      stagedTrade({ tx: HASH, offer_id: 70 }),
      `trade with tx ${HASH}, idx 0: its offer 70 was cancelled in block 100, before its block 101`,
    ],
    [
      "a trade of an offer that an earlier staged block cancelled",
      `insert into ingest.staged_block values (101, '${AT}');
      insert into ingest.staged_cancellation values (101, 1);
      ${stagedTrade({ tx: HASH }).replace("'101'", "'102'")}`,
      `trade with tx ${HASH}, idx 0: its offer 1 was cancelled in block 101, before its block 102`,
    ],
    [
      "a trade of one token",
      stagedTrade({ bid_gem: WETH }),
      `trades line 7.bid_gem is "${WETH}", as lot_gem: an offer is of two tokens`,
    ],
    [
      "a trade with another pair hash than its offer",
      stagedTrade({ tx: HASH, pair: HASH }),
      `trade with tx ${HASH}, idx 0: its pair is ${HASH}, but that of its offer 1 is 0x`,
    ],
    [
      "a trade with another maker than its offer",
      stagedTrade({ tx: HASH, maker: MKR }),
      `trade with tx ${HASH}, idx 0: its maker is ${MKR}, but that of its offer 1 is `,
    ],
    [
      "a second cancellation of an offer",
      `insert into ingest.staged_block values (101, '${AT}');
      insert into ingest.staged_cancellation values (101, 2)`,
      "killed: offer 2 was cancelled in block 100",
    ],
    [
      "a cancellation of a negative id",
      `insert into ingest.staged_block values (101, '${AT}');
      insert into ingest.staged_cancellation values (101, -3)`,
      "killed: offer -3: an id is an integer from 0",
    ],
  ])("staged rows with %s are refused", async (_name, staged, message) => {
    await writer.query("begin");
    await writer.query(staged);
    await expect(writer.query("select ingest.write_blocks()")).rejects.toThrow(message);
    await writer.query("rollback");
  });

  const stagedOffer = (columns: Record<string, unknown>): string => {
    const row = { ...offer(columns), line: 8, block: 101, time: AT, ...columns };
    const values = Object.values(row).map((value) => `'${String(value)}'`);
    return `insert into ingest.staged_offer (${Object.keys(row).join(", ")}) values (${values.join(", ")});`;
  };
  const inBlock = (sql: string, number: number): string => sql.replace("'101'", `'${number}'`);

  it.each<[string, string, string, string?]>([
    [
      "an offer twice",
      stagedOffer({ id: 9 }) + stagedOffer({ id: 9, line: 12 }),
      "offers line 12: offer 9 exists already",
    ],
    [
      "an offer twice, in two blocks",
      stagedOffer({ id: 9, line: 12, block: 103 }) + stagedOffer({ id: 9 }),
      "offers line 12: offer 9 exists already",
    ],
    ["a recorded offer", stagedOffer({ id: 1 }), "offers line 8: offer 1 exists already"],
    [
      "a trade twice",
      `${stagedTrade({ tx: HASH, idx: 3 })}; ${stagedTrade({ tx: HASH, idx: 3 }).replace("'7'", "'9'")}`,
      `trades line 9 exists already: tx ${HASH}, idx 3`,
    ],
    [
      "a trade twice without idx, in two blocks",
      `${stagedTrade({ tx: HASH })}; ${inBlock(stagedTrade({ tx: HASH }), 102).replace("'7'", "'9'")}`,
      `trades line 9 exists already: tx ${HASH}, idx 0`,
    ],
    [
      "a recorded trade",
      stagedTrade({ tx: KNOWN["tx"], idx: 4 }),
      `trades line 7 exists already: tx ${aHash("known")}, idx 4`,
    ],
    [
      "an offer that was cancelled in an earlier block",
      stagedOffer({ id: 70 }),
      "offers line 8: offer 70 was cancelled in block 100",
    ],
    [
      "an offer and its cancellation in an earlier block",
      `${stagedOffer({ id: 9, block: 103 })} insert into ingest.staged_cancellation values (102, 9)`,
      "offers line 8: offer 9 was cancelled in block 102",
    ],
    ...[50, 101].map((killed): [string, string, string, string] => [
      `an offer that was made in block 103 and killed in block ${killed}`,
      stagedOffer({ id: 9, block: 103, killed }),
      `offers line 8.killed is ${killed}: it must be 0, or a block from 103 on, in which the offer was made`,
      "22023",
    ]),
  ])("staged rows with %s are refused", async (_name, staged, message, code = "23505") => {
    const before = await contentsOf(owner);
    await writer.query("begin");
    await writer.query(staged);
    await expect(writer.query("select ingest.write_blocks()")).rejects.toMatchObject({
      message,
      code,
    });
    await writer.query("commit");
    expect(await contentsOf(owner)).toEqual(before);
  });

  it("an offer that contradicts an earlier trade of it is refused", async () => {
    await block({ number: 101, trades: [trade({ offer_id: 50, tx: HASH })] });
    await expectRefused(
      () => block({ number: 102, offers: [offer({ id: 50, maker: MKR })] }),
      `trade with tx ${HASH}, idx 0: its maker is ${trade()["maker"] as string}, but that of its offer 50 is ${MKR}`,
    );
  });

  it("tokens are kept in the letter case that they are registered in", async () => {
    const swap = { lot_gem: inCapitals(WETH), bid_gem: inCapitals(DAI) };
    await block({ number: 101, trades: [trade(swap)], offers: [offer({ id: 8, ...swap })] });
    await writer.query("begin");
    await writer.query(stagedTrade({ ...swap }).replace("101", "102"));
    await writer.query("select ingest.write_blocks()");
    await writer.query("commit");
    const { rows } = await owner.query(
      `select market, lot_gem, bid_gem from dex_trade where id > 1
      union all
      select market, lot_gem, bid_gem from dex_offer where id = 8`,
    );
    expect(rows).toEqual(Array(3).fill({ market: "WETHDAI", lot_gem: WETH, bid_gem: DAI }));
  });

  it("staged blocks follow one another by the hashes that are given, all from one on", async () => {
    const staged = (parent: string, hash: string | null): string => `
      insert into ingest.staged_block values
        (101, '${AT}', null, '${HASH}'),
        (102, '${AT}', '${aHash("102")}', '${aHash("who knows")}'),
        (103, '${AT}', ${hash === null ? "null" : `'${hash}'`}, '${parent}')`;
    for (const [parent, hash, message] of [
      [HASH, HASH, `block 103 has the parent ${HASH}, but block 102 has the hash ${aHash("102")}`],
      [aHash("102"), null, "block 103 has no hash, but block 102 has one: "],
    ] as const) {
      await writer.query("begin");
      await writer.query(staged(parent, hash));
      await expect(writer.query("select ingest.write_blocks()")).rejects.toThrow(message);
      await writer.query("rollback");
    }
    await writer.query("begin");
    await writer.query(staged(aHash("102"), HASH));
    await writer.query("select ingest.write_blocks()");
    await writer.query("commit");
    expect(await blocks()).toEqual([100, 101, 102, 103]);
  });

  it("a missing hash is not compared", async () => {
    await block({ number: 101, hash: null });
    await block({ number: 102, parent: aHash("who knows"), hash: aHash("102") });
    await block({ number: 103, parent: aHash("102"), hash: aHash("103") });
    expect(await blocks()).toEqual([100, 101, 102, 103]);
  });
});

describe("in an empty database", () => {
  beforeEach(begin);
  afterEach(expectVerified);

  it("the first block may have any number, also 0", async () => {
    await block({ number: 0, parent: HASH });
    expect(await head()).toEqual([{ block: 0 }]);
    expect(await takeBack(0)).toBe(0);
  });

  it("an empty block moves the head and changes nothing else", async () => {
    await block({ number: 5, trades: [trade()] });
    await block({ number: 6, at: "2026-01-01T00:02:00Z" });
    const { rows } = await owner.query("select block, time from dex_head");
    expect(rows).toEqual([{ block: 6, time: new Date("2026-01-01T00:02:00Z") }]);
    expect(await ids()).toEqual([1]);
  });

  it("trades and cancellations may refer to offers of the same block", async () => {
    const made = { lot_gem: WETH, bid_gem: DAI, lot_amt: "10", bid_amt: "1000" };
    await block({
      offers: [offer({ id: 1, ...made }), offer({ id: 2, ...made }), offer({ id: 3, ...made })],
      trades: [trade({ offer_id: 1, lot_amt: "10" }), trade({ offer_id: 3, lot_amt: "4" })],
      killed: [2],
    });
    const { rows } = await owner.query("select id, killed, filled from dex_offer order by id");
    expect(rows).toEqual([
      { id: 1, killed: 0, filled: true },
      { id: 2, killed: 101, filled: false },
      { id: 3, killed: 0, filled: false },
    ]);
    const standing = await owner.query("select offer_id from dex_private.standing_offer");
    expect(standing.rows).toEqual([{ offer_id: 3 }]);
  });

  describe("blocks without rows", () => {
    it("are deleted once they are more than 1,000 behind the head, unlike blocks with rows", async () => {
      await block({ number: 10 });
      await block({ number: 11, trades: [trade()] });
      await block({ number: 12, offers: [offer()] });
      await block({ number: 13, killed: [999_999] });
      await block({ number: 14 });
      await block({ number: 1010 });
      expect(await blocks()).toEqual([10, 11, 12, 13, 14, 1010]);
      await block({ number: 1011 });
      expect(await blocks()).toEqual([11, 12, 13, 14, 1010, 1011]);
      await block({ number: 1015 });
      expect(await blocks()).toEqual([11, 12, 13, 1010, 1011, 1015]);
      await block({ number: 500_000, trades: [trade()] });
      expect(await blocks()).toEqual([11, 12, 13, 500_000]);
    });

    it("leave the head on the last existing block after a removal to a deleted one", async () => {
      await block({ number: 11, trades: [trade()] });
      await block({ number: 12 });
      await block({ number: 5000 });
      expect(await takeBack(4000)).toBe(0);
      expect(await head()).toEqual([{ block: 11 }]);
    });

    it("are never more than those of the last 1,000", async () => {
      await block({ number: 1, trades: [trade()] });
      await writer.query(
        `select ingest.write_block(number, $1)
      from generate_series(2, 2500) as number`,
        [AT],
      );
      // Block 1 and blocks 1500 to 2500.
      expect(await blocks()).toHaveLength(1002);
    });
  });

  it.each([1, null])("a trade of the offer %s is written unchanged", async (offer_id) => {
    const given = aTrade({ offer_id, id: 7, taker: anAddress("t"), idx: 3, venue: MKR });
    await write(database.writer, { trades: [given] });
    const { rows } = await owner.query(
      `select id::integer, offer_id, pair, maker, taker, lot_gem, trim_scale(lot_amt)::text as lot_amt,
      bid_gem, trim_scale(bid_amt)::text as bid_amt, block, tx, idx, venue
    from dex_trade`,
    );
    const { time: _, ...expected } = given;
    expect(rows).toEqual([expected]);
    expect(await takeBack(-1)).toBe(1);
    expect(await ids()).toEqual([]);
  });
});
