// Figures kept as of the head: what a move of the head, or a change of trades, does to them.
import { connect } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import {
  aTrade,
  blockAt,
  hours,
  insert,
  MKR,
  registerMarkets,
  setHead,
  WETH,
} from "../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterAll(async () => {
  await database.drop();
});

const SECOND = 1 / 3600;

/** The markets whose figures are kept. Those that are must be as they are computed, to the digit. */
async function kept(): Promise<string[]> {
  const { rows } = await database.owner.query<{ market: string; same: boolean }>(
    `select
      pair.market,
      kept is not distinct from figure as same
    from dex_private.head_figure as kept
    join dex_private.window_figure as figure using (market_id)
    join dex_pair as pair on pair.id = kept.market_id
    order by pair.market`,
  );
  expect(rows.filter(({ same }) => !same)).toEqual([]);
  return rows.map(({ market }) => market);
}

/** The volumes of WETH/DAI over the windows of 24, 12, 6 and 1 hours, as kept. */
async function volumes(): Promise<(string | null)[]> {
  const { rows } = await database.owner.query<Record<string, string | null>>(
    `select
      trim_scale(base_24h)::text as "24",
      trim_scale(base_12h)::text as "12",
      trim_scale(base_6h)::text as "6",
      trim_scale(base_1h)::text as "1"
    from dex_private.head_figure
    join dex_pair on dex_pair.id = market_id
    where market = 'WETHDAI'`,
  );
  return ["24", "12", "6", "1"].map((window) => rows[0]![window]!);
}

/** Which transaction has written what is kept of each market. */
async function written(): Promise<Record<string, string>> {
  const { rows } = await database.owner.query<{ market: string; xmin: string }>(
    `select
      pair.market,
      kept.xmin::text
    from dex_private.head_figure as kept
    join dex_pair as pair on pair.id = kept.market_id`,
  );
  return Object.fromEntries(rows.map(({ market, xmin }) => [market, xmin]));
}

describe("a move of the head", () => {
  // One trade 100 hours after genesis; nothing else happens when the head passes it, or a window does.
  beforeEach(async () => {
    await insert(database.writer, "dex_trade", aTrade({ hour: 100, base: "3" }));
    await setHead(database.writer, 50);
  });

  it("keeps the figures of every market", async () => {
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
    expect(await volumes()).toEqual([null, null, null, null]);
  });

  it.each([
    [0, ["3", "3", "3", "3"], [null, null, null, null]],
    [1, ["3", "3", "3", null], ["3", "3", "3", "3"]],
    [6, ["3", "3", null, null], ["3", "3", "3", null]],
    [12, ["3", null, null, null], ["3", "3", null, null]],
    [24, [null, null, null, null], ["3", null, null, null]],
  ])("past the edge %d hours after a trade is felt, both ways", async (hour, at, before) => {
    await setHead(database.writer, 100 + hour - SECOND);
    expect(await volumes()).toEqual(before);
    await setHead(database.writer, 100 + hour);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
    expect(await volumes()).toEqual(at);
    await setHead(database.writer, 100 + hour - SECOND);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
    expect(await volumes()).toEqual(before);
  });

  it("by its block alone, or by its time alone, is felt", async () => {
    const move = (block: number, time: number) =>
      database.writer.query("update dex_head set block = $1, time = $2", [
        blockAt(block),
        hours(time),
      ]);
    await move(99, 100);
    expect(await volumes()).toEqual([null, null, null, null]);
    await move(100, 100);
    expect(await volumes()).toEqual(["3", "3", "3", "3"]);
    await move(100, 99);
    expect(await volumes()).toEqual([null, null, null, null]);
    await move(100, 100);
    expect(await volumes()).toEqual(["3", "3", "3", "3"]);
    await move(99, 100);
    expect(await volumes()).toEqual([null, null, null, null]);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
  });

  it("leaves the figures of a market alone in which it passes no trade", async () => {
    await setHead(database.writer, 100 - SECOND);
    const before = await written();
    await setHead(database.writer, 100);
    const after = await written();
    expect(after["MKRWETH"]).toBe(before["MKRWETH"]);
    expect(after["WETHDAI"]).not.toBe(before["WETHDAI"]);
  });

  it("takes a market in that was registered after it", async () => {
    await insert(database.writer, "dex_pair", { base: "MKR", quote: "DAI", active: true });
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
    await setHead(database.writer, 51);
    expect(await kept()).toEqual(["MKRDAI", "MKRWETH", "WETHDAI"]);
  });

  it("back to none keeps nothing: figures are then as of the clock", async () => {
    await database.writer.query("delete from dex_head");
    expect(await kept()).toEqual([]);
  });

  it("waits for a writer whose trades it must take in", async () => {
    const writing = await connect(database.url, { role: "dex_writer" });
    await writing.query("begin");
    await insert(writing, "dex_trade", aTrade({ hour: 55, base: "5" }));
    let moved = false as boolean;
    const moving = setHead(database.writer, 60).then(() => (moved = true));
    while (!moved && !(await isWaiting()));
    await writing.query("commit");
    await moving;
    expect(await volumes()).toEqual(["5", "5", "5", null]);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
    await writing.end();
  });
});

/** Whether a writer waits for its turn. */
async function isWaiting(): Promise<boolean> {
  const { rowCount } = await database.owner.query(
    `select
    from pg_locks
    where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())
      and not granted`,
  );
  return rowCount !== 0;
}

describe("a change of trades", () => {
  beforeEach(async () => {
    await insert(database.writer, "dex_trade", [
      aTrade({ hour: 99 }),
      aTrade({ hour: 99, baseGem: MKR, quoteGem: WETH }),
    ]);
    await setHead(database.writer, 100);
  });

  it("after the head touches nothing that is kept", async () => {
    const before = await written();
    await insert(database.writer, "dex_trade", [
      aTrade({ hour: 100 + SECOND }),
      aTrade({ hour: 101, baseGem: MKR, quoteGem: WETH }),
    ]);
    expect(await written()).toEqual(before);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
  });

  it.each([
    ["insertion", () => insert(database.writer, "dex_trade", aTrade({ hour: 98 }))],
    ["insertion at the head", () => insert(database.writer, "dex_trade", aTrade({ hour: 100 }))],
    ["deletion", () => database.writer.query("delete from dex_trade where market = 'WETHDAI'")],
    [
      "new label",
      () => database.writer.query("update dex_token set decimals = 17 where symbol = 'DAI'"),
    ],
  ])("up to the head has the market computed until it moves: %s", async (_, change) => {
    await change();
    expect(await kept()).toEqual(["MKRWETH"]);
    await setHead(database.writer, 100 + SECOND);
    expect(await kept()).toEqual(["MKRWETH", "WETHDAI"]);
  });

  it("that takes them all keeps nothing", async () => {
    await database.owner.query("truncate dex_trade");
    expect(await kept()).toEqual([]);
  });
});

it.each(["repeatable read", "serializable"])(
  "a writer at %s is refused: it could not see what another has written before it",
  async (level) => {
    const client = await connect(database.url, { role: "dex_writer" });
    await client.query(`begin isolation level ${level}`);
    await expect(setHead(client, 1)).rejects.toMatchObject({
      message: `the exchange is written at read committed, not at ${level}`,
      code: "25000",
    });
    await client.end();
  },
);
