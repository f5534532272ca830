// db:verify reports the row of each kind of damage to derived tables, and ingest.rebuild() repairs it.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Differences } from "../../db/verify/differences.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { openClient } from "../database.ts";
import { aHash, anAddress, anOffer, aTrade, registerMarkets, write } from "../factories.ts";
import { useOwned } from "../served.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const BOOK = anAddress("book");

const { database, owner } = useOwned(async (writer) => {
  await registerMarkets(writer);
  await writer.query("select ingest.offer_ids($1, $2, $3)", [[BOOK], ["7"], [0]]);
  await write(writer, {
    offers: [
      anOffer({ id: 1 }),
      anOffer({ id: 2, killed: 3600 }),
      anOffer({ id: 3, side: "buy" }),
      anOffer({ id: 2 ** 30, side: "buy", venue: BOOK }),
    ],
    trades: [
      aTrade({ hour: 1, offer_id: 1 }),
      aTrade({ hour: 2, offer_id: 1 }),
      aTrade({ hour: 2 }),
    ],
    head: 3,
  });
});

it("finds nothing in data written by the write functions", async () => {
  expect(await verify(owner)).toEqual([]);
});

it("looks up the labels of two tokens once, however many rows they have", async () => {
  interface Node {
    "Relation Name"?: string;
    "Actual Loops": number;
    Plans?: Node[];
  }
  const scansOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(scansOf)];
  await owner.query("begin");
  // With it the planner may look up labels for each row, and keep the result in memory or not.
  await owner.query("set local enable_memoize = off");
  const { rows } = await owner.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
    "explain (analyze, format json) select from dex_private.mislabelled_trade",
  );
  await owner.query("rollback");
  const scans = scansOf(rows[0]!["QUERY PLAN"][0].Plan).filter(
    (node) => node["Relation Name"] === "dex_pair",
  );
  const { rows: tokens } = await owner.query<{ count: number }>(
    `select count(*)::integer
    from (
      select lot_gem, bid_gem from dex_trade union select lot_gem, bid_gem from dex_offer
    ) as listed`,
  );
  expect(scans.map((node) => node["Actual Loops"])).toEqual([tokens[0]!.count]);
});

/** `changed` is the block whose facts are no longer those of its digest: only its digest says so after a rebuild. */
const DAMAGE: [damage: string, row: RegExp, ...changed: string[]][] = [
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
    "insert into dex_private.standing_offer select market_id, act, price, 2, made from dex_private.standing_offer where offer_id = 1",
    /^dex_private.standing_offer 2$/,
  ],
  ["update dex_offer set ended = ended + 1 where id = 2", /^dex_offer 2$/],
  ["delete from dex_private.ended_offer where offer_id = 2", /^dex_private.ended_offer 2$/],
  ["update dex_private.ended_offer set ended = ended + 1", /^dex_private.ended_offer /],
  ["delete from dex_private.best_price", /^dex_private.best_price /],
  ["update dex_private.best_price set price = price + 1", /^dex_private.best_price /],
  ["update dex_private.period_figure set trades = trades + 1", /^dex_private.period_figure /],
  ["delete from dex_private.period_figure where minutes = 60", /^dex_private.period_figure /],
  ["update dex_private.running_sum set base_amt = base_amt + 1", /^dex_private.running_sum /],
  ["update dex_private.running_sum set last = 1", /^dex_private.running_sum /],
  ["update dex_private.running_sum set day_low = 1", /^dex_private.running_sum /],
  ["delete from dex_private.running_sum", /^dex_private.running_sum /],
  [
    "update dex_private.market_figure set base = quote, quote = base",
    /^dex_private.market_figure /,
  ],
  ["update dex_private.market_figure set active = not active", /^dex_private.market_figure /],
  ["update dex_private.market_figure set last = 1", /^dex_private.market_figure /],
  ["update dex_private.market_figure set base_24h = base_24h + 1", /^dex_private.market_figure /],
  ["delete from dex_private.market_figure", /^dex_private.market_figure /],
  ["delete from dex_block where number = 7200", /^dex_block 7200$/],
  ["update dex_block set first_trade = 3 where number = 7200", /^dex_block 7200$/],
  ["update dex_private.write_state set last_trade = 1", /^dex_private.write_state /],
  ["update dex_private.write_state set head = 3600", /^dex_private.write_state /],
  ["delete from dex_private.write_state", /^dex_private.write_state true$/],
  ["update dex_pair set quote = 'SAI' where quote = 'DAI'", /^dex_pair 0x/],
  ["update dex_token set symbol = 'SAI' where symbol = 'DAI'", /^dex_pair 0x/],
  ["update dex_trade set act = 'buy' where id = 1", /^dex_trade 1$/],
  ["update dex_trade set lot_tkn = 'weth' where id = 1", /^dex_trade 1$/],
  ["update dex_trade set market_id = 2 where id = 1", /^dex_trade 1$/],
  [
    "update dex_trade set lot_amt = 2.000000000000000000 where id = 1",
    /^dex_trade 1$/,
    "dex_block 3600",
  ],
  ["delete from dex_trade where id = 3", /^dex_private.period_figure /, "dex_block 7200"],
  ["update dex_offer set price = null where id = 1", /^dex_offer 1$/],
  [
    "update dex_offer set killed = 7200 where id = 1",
    /^dex_private.cancellation 1$/,
    "dex_block 7200",
  ],
  [
    "update dex_offer set killed = 0 where id = 2",
    /^dex_private.cancellation 2$/,
    "dex_block 3600",
  ],
  ["update dex_offer set closed = true where id = 1", /^dex_offer 1$/, "dex_block 0"],
  ["delete from dex_offer where id = 1", /^dex_private.offer_left 1$/, "dex_block 0"],
  ["insert into dex_private.offer_left values (99, 1)", /^dex_private.offer_left 99$/],
  ["update dex_private.cancellation set block = 7200", /^dex_private.cancellation 2$/],
  [
    "update dex_offer set ref = '8' where id = 1073741824",
    /^dex_private.offer_ref 1073741824$/,
    "dex_block 0",
  ],
  ["update dex_private.offer_ref set ref = '8'", /^dex_private.offer_ref 1073741824$/],
  ["update dex_private.offer_ref set offer_id = 1073741825", /^dex_private.offer_ref 107374182/],
  ["delete from dex_private.offer_ref", /^dex_private.offer_ref 1073741824$/],
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

it.each(DAMAGE)("reports the row after: %s", async (damage, row, ...changed) => {
  await using admin = await openClient(database.url);
  await admin.query("begin");
  await admin.query(damage);
  const found = (await verify(admin)).map((difference) => difference.row);
  expect(found).toContainEqual(expect.stringMatching(row));
  await admin.query("select ingest.rebuild()");
  const left = (await verify(admin)).map((difference) => difference.row);
  expect(left).toEqual(changed);
});

const ADDRESS = /^0x(?=.*[A-F])(?=.*[a-f])[0-9a-fA-F]{40}$/;

it.each<[damage: string, row: string, right: RegExp]>([
  [
    "update dex_block set time = '2030-01-01' where number = 3600",
    "dex_block 7200",
    /^not before block 3600, at 2030-/,
  ],
  [
    "update dex_block set first_trade = 9 where number = 3600",
    "dex_block 7200",
    /with first_trade 9$/,
  ],
  ["update dex_trade set id = 9 where id = 1", "dex_trade 9", /^after trade 3 of block 7200/],
  ["update dex_trade set idx = 1 where id = 2", "dex_trade 3", /, idx 1$/],
  [
    "update dex_trade set id = 9 where id = 1",
    "dex_trade 9",
    /^from 1 to 1, the ids of its block$/,
  ],
  [
    "update dex_trade set block = 99999 where id = 3",
    "dex_trade 3",
    /^of a block, which block 99999 is not$/,
  ],
  [
    "update dex_trade set time = '2030-01-01' where id = 3",
    "dex_trade 3",
    /^at 2026-.*, the time of its block$/,
  ],
  [
    "update dex_offer set block = 1, killed = 0",
    "dex_offer 1",
    /^of a block, which block 1 is not$/,
  ],
  [
    "update dex_private.cancellation set block = 1",
    "dex_private.cancellation 2",
    /^of a block, which block 1 is not$/,
  ],
  ["delete from dex_block where number = 10800", "dex_private.write_state", /^of head 7200 /],
  [
    `update dex_block set hash = '${aHash("7200")}' where number = 7200`,
    "dex_block 10800",
    /^with a hash, as block 7200 before it has one$/,
  ],
  [
    `update dex_block set hash = '${aHash("one")}'`,
    "dex_block 10800",
    /^without the hash of block 7200$/,
  ],
  ["update dex_trade set maker = taker where id = 2", "dex_trade 2", /^\{"maker" : "0x/],
  [
    `alter table dex_private.offer_ref drop constraint if exists offer_ref_venue_check;
    insert into dex_private.offer_ref select '${BOOK.toUpperCase()}', ref, offer_id + 1, block from dex_private.offer_ref`,
    "dex_private.offer_ref 1073741825",
    /^without the order of offer 1073741824$/,
  ],
  ["update dex_trade set maker = lower(maker) where id = 2", "dex_trade 2", ADDRESS],
  ["update dex_trade set taker = lower(taker) where id = 3", "dex_trade 3", ADDRESS],
  ["update dex_offer set maker = lower(maker) where id = 3", "dex_offer 3", ADDRESS],
  [
    "insert into dex_private.active_until values (1, 99999, true)",
    "dex_private.active_until 1 99999",
    /^up to a block of 0 to 10800$/,
  ],
  [
    "insert into dex_private.active_until values (99, 3600, true)",
    "dex_private.active_until 99 3600",
    /^of a market, which 99 is not$/,
  ],
  [
    "insert into dex_private.cancellation values (1, 0)",
    "dex_trade 1",
    /^of a block up to 0, which cancelled the offer$/,
  ],
  [
    `update dex_trade set pair = '${aHash("no pair")}' where id = 2`,
    "dex_trade 2",
    new RegExp(`^${aTrade().pair}$`),
  ],
])("reports what is wrong in the history itself: %s", async (damage, row, right) => {
  await using admin = await openClient(database.url);
  await admin.query("begin");
  await admin.query(damage);
  expect(await verify(admin)).toContainEqual(
    expect.objectContaining({ row, right: expect.stringMatching(right) as string }),
  );
});

it.each([
  ["pair", 25, aHash("no pair")],
  ["pair", 103, aHash("no pair")],
  ["maker", 25, anAddress("maker").toLowerCase()],
  ["maker", 103, anAddress("maker").toLowerCase()],
])(
  "counts all rows with a wrong %s, %d of each table, and returns up to 100",
  async (column, count, wrong) => {
    await using admin = await openClient(database.url);
    await admin.query("begin");
    const ofBlock = { block: undefined, time: undefined, killed: undefined };
    for (let n = 0; n < count; n += 1) {
      await admin.query("select ingest.write_block($1, $2, offers => $3, trades => $4)", [
        ...[20_000 + n, new Date(Date.UTC(2026, 5, 1) + n * 12_000)],
        JSON.stringify([{ ...anOffer({ id: 100 + n, [column]: wrong }), ...ofBlock }]),
        JSON.stringify([{ ...aTrade({ offer_id: 100 + n, [column]: wrong }), ...ofBlock }]),
      ]);
    }
    const found = new Differences();
    await verify(admin, found);
    for (const table of ["dex_trade", "dex_offer"]) {
      const rows = found.shown.filter(({ row, kept }) => row.startsWith(table) && kept === wrong);
      expect(new Set(rows.map(({ row }) => row)).size).toBe(Math.min(count, 100));
    }
    expect(found.total).toBe(2 * count);
  },
);

it("reports a wrong last price that the kept figures would give again", async () => {
  await using admin = await openClient(database.url);
  await admin.query("begin");
  // Swaps the ids of two trades of a block: what follows the ids takes the older one for the newest.
  await admin.query("update dex_trade set lot_amt = 2 * lot_amt, price = price / 2 where id = 2");
  await admin.query("update dex_trade set id = id + 6 where id in (2, 3)");
  await admin.query(
    "update dex_trade set id = case id when 8 then 3 else 2 end where id in (8, 9)",
  );
  await admin.query("select ingest.rebuild()");
  expect(await verify(admin)).toContainEqual(
    expect.objectContaining({
      row: expect.stringMatching(/^dex_private.market_figure /) as string,
    }),
  );
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
