// db:verify reports the row of each kind of damage to derived tables, and ingest.rebuild() repairs it.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type Client } from "../../db/connect.ts";
import { verify } from "../../db/verify/verify.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { anOffer, aTrade, registerMarkets, write } from "../factories.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

let database: TestDatabase;
let owner: Client;
beforeAll(async () => {
  database = await makeDatabase();
  owner = await connect(database.url, { role: "dex_owner" });
  await registerMarkets(database.writer);
  await write(database.writer, {
    offers: [anOffer({ id: 1 }), anOffer({ id: 2, killed: 3600 }), anOffer({ id: 3, side: "buy" })],
    trades: [
      aTrade({ hour: 1, offer_id: 1 }),
      aTrade({ hour: 2, offer_id: 1 }),
      aTrade({ hour: 2 }),
    ],
    head: 3,
  });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

it("finds nothing in data written by the write functions", async () => {
  expect(await verify(owner)).toEqual([]);
});

/** Inserts a copy of an existing row with other keys. */
const added = (table: string, columns: string): string =>
  `insert into dex_private.${table} select ${columns} from dex_private.${table} limit 1`;

const DAMAGE: [damage: string, row: RegExp][] = [
  ["delete from dex_private.market_direction where act = 'buy'", /^dex_private.market_direction /],
  ["update dex_pair set base_precision = 6 where base = 'WETH'", /^dex_pair 0x/],
  ["update dex_trade set price = price + 1 where id = 2", /^dex_trade 2$/],
  ["update dex_trade set market = null where id = 2", /^dex_trade 2$/],
  ["update dex_offer set filled = true where id = 3", /^dex_offer 3$/],
  [
    "update dex_private.offer_left set lot_amt = 1 where offer_id = 1",
    /^dex_private.offer_left 1$/,
  ],
  ["delete from dex_private.offer_left where offer_id = 1", /^dex_private.offer_left 1$/],
  ["delete from dex_private.cancellation", /^dex_private.cancellation 2$/],
  ["delete from dex_private.standing_offer where offer_id = 1", /^dex_private.standing_offer 1$/],
  [
    "insert into dex_private.standing_offer select market_id, act, price, 2 from dex_private.standing_offer where offer_id = 1",
    /^dex_private.standing_offer 2$/,
  ],
  ["update dex_private.period_figure set trades = trades + 1", /^dex_private.period_figure /],
  ["delete from dex_private.period_figure where minutes = 60", /^dex_private.period_figure /],
  ["update dex_private.market_figure set last = 1", /^dex_private.market_figure /],
  ["update dex_private.market_figure set base_24h = base_24h + 1", /^dex_private.market_figure /],
  ["delete from dex_private.market_figure", /^dex_private.market_figure /],
  ["delete from dex_block where number = 7200", /^dex_block 7200$/],
  ["update dex_block set first_trade = 3 where number = 7200", /^dex_block 7200$/],
  ["update dex_private.write_state set last_trade = 1", /^dex_private.write_state /],
  ["update dex_private.write_state set head = 3600", /^dex_private.write_state /],
  ["delete from dex_private.write_state", /^dex_private.write_state true$/],
  ["update dex_private.market_direction set market = 'X'", /^dex_private.market_direction /],
  [
    added("market_direction", "'one', 'other', market_id, market, act, lot_tkn, bid_tkn"),
    /^dex_private.market_direction one other$/,
  ],
  ["update dex_pair set quote = 'SAI' where quote = 'DAI'", /^dex_pair 0x/],
  ["update dex_token set symbol = 'SAI' where symbol = 'DAI'", /^dex_pair 0x/],
  ["update dex_trade set act = 'buy' where id = 1", /^dex_trade 1$/],
  ["update dex_trade set lot_tkn = 'weth' where id = 1", /^dex_trade 1$/],
  ["update dex_trade set market_id = 2 where id = 1", /^dex_trade 1$/],
  ["update dex_trade set lot_amt = 2.000000000000000000 where id = 1", /^dex_trade 1$/],
  ["delete from dex_trade where id = 3", /^dex_private.period_figure /],
  ["update dex_offer set price = null where id = 1", /^dex_offer 1$/],
  ["update dex_offer set killed = 7200 where id = 1", /^dex_private.cancellation 1$/],
  ["update dex_offer set killed = 0 where id = 2", /^dex_private.cancellation 2$/],
  ["update dex_offer set closed = true where id = 1", /^dex_offer 1$/],
  ["delete from dex_offer where id = 1", /^dex_private.offer_left 1$/],
  ["insert into dex_private.offer_left values (99, 1)", /^dex_private.offer_left 99$/],
  ["update dex_private.cancellation set block = 7200", /^dex_private.cancellation 2$/],
  ["insert into dex_private.cancellation values (3, 7200)", /^dex_private.cancellation 3$/],
  [
    "update dex_private.standing_offer set price = 1 where offer_id = 1",
    /^dex_private.standing_offer 1$/,
  ],
  ["delete from dex_private.period_figure where minutes = 1", /^dex_private.period_figure /],
  [
    "insert into dex_private.period_figure select market_id, minutes, start + interval '1 day', 1, 1, 1, 1, 1, 1, 1, 0, 0 from dex_private.period_figure limit 1",
    /^dex_private.period_figure /,
  ],
  [
    "update dex_private.period_figure set quote_amt = 1 where minutes = 60",
    /^dex_private.period_figure /,
  ],
  [
    "insert into dex_private.period_figure select market_id, minutes, start + interval '1 day', 1, 1, 1, 1, 1, 1, 1, 0, 0 from dex_private.period_figure limit 1",
    /^dex_private.period_figure /,
  ],
  ["update dex_private.market_figure set bid = 1", /^dex_private.market_figure /],
  [
    "insert into dex_private.market_figure select (json_populate_record(kept, '{\"market_id\": 99}')).* from dex_private.market_figure as kept limit 1",
    /^dex_private.market_figure 99$/,
  ],
  ["update dex_block set has_rows = false where number = 7200", /^dex_block 7200$/],
  [
    "update dex_block set time = time + interval '1 minute' where number = 7200",
    /^dex_block 7200$/,
  ],
  ["delete from dex_block where number = 3600", /^dex_block 3600$/],
];

it.each(DAMAGE)("reports the row after: %s", async (damage, row) => {
  const admin = await connect(database.url);
  try {
    await admin.query("begin");
    await admin.query(damage);
    const found = (await verify(admin)).map((difference) => difference.row);
    expect(found).toContainEqual(expect.stringMatching(row));
    await admin.query("select ingest.rebuild()");
    expect(await verify(admin)).toEqual([]);
  } finally {
    await admin.query("rollback");
    await admin.end();
  }
});

describe("the command", () => {
  const run = async (
    ...args: string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> => {
    const ran = await promisify(execFile)(
      "node_modules/.bin/node",
      ["db/commands/verify.ts", ...args],
      { cwd: REPOSITORY, env: { ...process.env, DATABASE_OWNER_URL: database.url } },
    ).catch((error: unknown) => error as { code: number; stdout: string; stderr: string });
    return { code: 0, ...ran };
  };

  it("exits 0 without differences, and 1 with the row of a difference", async () => {
    expect(await run()).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^Verified .*\.\nNothing differs\.\n$/) as string,
    });
    await database.owner.query("update dex_private.offer_left set lot_amt = 1 where offer_id = 3");
    const { code, stdout } = await run();
    expect(code).toBe(1);
    expect(stdout).toContain("\ndex_private.offer_left 3\n  it is {");
    const report = JSON.parse((await run("--json")).stdout) as { differences: unknown[] };
    expect(report.differences).toHaveLength(1);
    await database.owner.query("select ingest.rebuild()");
    expect(await run()).toMatchObject({ code: 0 });
  });

  it("prints its usage", async () => {
    const { code, stdout } = await run("--help");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Usage: npm run db:verify \[-- --json\]\n/) as string,
    });
  });

  it("exits 2 and names the reason if it cannot verify", async () => {
    const nowhere = new URL(database.url);
    nowhere.pathname = "/dex_nowhere";
    const ran = await promisify(execFile)("node_modules/.bin/node", ["db/commands/verify.ts"], {
      cwd: REPOSITORY,
      env: { ...process.env, DATABASE_OWNER_URL: nowhere.href },
    }).catch((error: unknown) => error as { code: number; stderr: string });
    expect(ran).toMatchObject({
      code: 2,
      stderr: 'The database could not be verified: database "dex_nowhere" does not exist\n',
    });
  });

  it("exits 2 for an unknown option", async () => {
    expect(await run("--all")).toMatchObject({ code: 2, stdout: "" });
  });
});
