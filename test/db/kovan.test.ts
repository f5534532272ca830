// Every figure of a real week, at every one of its blocks, against a computation the long way.
import { connect } from "../../db/connect.ts";
import { readFolder } from "../../db/load/folder.ts";
import { loadRows } from "../../db/load/write.ts";
import { bruteForce, type Figures, type Moment, type Recording } from "../brute-force.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { describeKovan, KOVAN, kovanRecording } from "../kovan.ts";

const VIEWS: Record<string, (keyof Figures)[]> = {
  dex_market: [
    "pair",
    "base",
    "quote",
    "price",
    "last",
    "vol",
    "ask",
    "bid",
    "low",
    "high",
    "active",
  ],
  dex_price: ["pair", "base", "quote", "vwap24h", "vwap12h", "vwap6h", "vwap1h", "last"],
  dex_volume: ["pair", "base", "quote", "vol"],
  dex_summary: [
    "pair",
    "base",
    "quote",
    "last",
    "last_time",
    "open",
    "change",
    "percent",
    "low",
    "high",
    "vwap",
    "vol",
    "quote_vol",
    "trades",
    "bid",
    "ask",
    "spread",
  ],
};

describeKovan("the week of kovan-2018-06", () => {
  let database: TestDatabase;
  let recording: Recording;
  let headAfterLoad: object[];
  beforeAll(async () => {
    database = await makeDatabase();
    recording = kovanRecording();
    const client = await connect(database.url, { role: "dex_writer" });
    await loadRows(client, await readFolder(KOVAN), { moveHead: true });
    await client.end();
    ({ rows: headAfterLoad } = await database.reader.query("select block, time from dex_head"));
  });
  afterAll(async () => {
    await database.drop();
  });

  /** Each view as it stands, and what the long way makes of the same columns. */
  async function viewsAndExpected(moment: Moment): Promise<{ views: object; expected: object }> {
    const figures = bruteForce(recording, moment);
    const views: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [view, columns] of Object.entries(VIEWS)) {
      const { rows } = await database.reader.query(
        `select * from ${view} order by pair collate "C"`,
      );
      views[view] = rows;
      expected[view] = figures.map((row) =>
        Object.fromEntries(columns.map((column) => [column, row[column]])),
      );
    }
    return { views, expected };
  }

  async function setHead(block: number, time: string): Promise<void> {
    await database.writer.query("delete from dex_head");
    await database.writer.query("insert into dex_head (block, time) values ($1, $2)", [
      block,
      time,
    ]);
  }

  it("has its head at the last block of the files", () => {
    expect(headAfterLoad).toEqual([{ block: 7647958, time: new Date("2018-06-12T21:11:56Z") }]);
  });

  // Each block is also the edge of a window for the trades 1, 6, 12 and 24 hours older.
  it("has every figure right at each block of the week, digit for digit", async () => {
    const heads = new Map(
      [...recording.trades, ...recording.offers].map((row) => [row["block"]!, row["time"]!]),
    );
    let figuresSeen = 0;
    for (const [block, time] of heads) {
      await setHead(Number(block), time);

      const { views, expected } = await viewsAndExpected({
        block: Number(block),
        time: Date.parse(time),
      });

      expect({ block, ...views }).toEqual({ block, ...expected });
      figuresSeen += JSON.stringify(views).match(/"\d+\.\d{18}"/g)?.length ?? 0;
    }
    expect(heads.size).toBeGreaterThan(60);
    expect(figuresSeen).toBeGreaterThan(500);
  });

  it("keeps an offer in the book until the block of its cancellation", async () => {
    const cancelled = recording.offers.filter((offer) => offer["killed"] !== "0");
    expect(cancelled).not.toHaveLength(0);
    for (const offer of cancelled) {
      const killed = Number(offer["killed"]);
      for (const block of [Number(offer["block"]), killed - 1, killed]) {
        await setHead(block, offer["time"]!);

        const { views, expected } = await viewsAndExpected({
          block,
          time: Date.parse(offer["time"]!),
        });

        expect({ block, ...views }).toEqual({ block, ...expected });
      }
    }
  });

  it("has every figure right at an hour in which nothing happened", async () => {
    await setHead(7_647_958 + 2_000, "2018-06-13T04:00:00Z");

    const { views, expected } = await viewsAndExpected({
      block: 7_649_958,
      time: Date.parse("2018-06-13T04:00:00Z"),
    });

    expect(views).toEqual(expected);
  });

  it("has every figure right by the clock, where no head is declared", async () => {
    await database.writer.query("delete from dex_head");

    // Years after the recording, whatever the clock shows exactly.
    const { views, expected } = await viewsAndExpected({ time: Date.now() });

    expect(views).toEqual(expected);
  });
});
