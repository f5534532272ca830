// Compares every figure of a recorded week, at every block, with brute-force.ts.
import { readFolder } from "../../db/load/folder.ts";
import { loadRows, type LoadSource } from "../../db/load/write-rows.ts";
import { bruteForce, type Figures, type Moment, type Recording } from "../brute-force.ts";
import { describeKovan, KOVAN, kovanBlocks, kovanFiles, kovanRecording } from "../kovan.ts";
import { useClient, useDatabase } from "../served.ts";

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
  const database = useDatabase();
  const client = useClient(database, "dex_writer");
  let recording: Recording;
  let upTo: (last: number) => LoadSource;
  beforeAll(async () => {
    recording = kovanRecording();
    upTo = await kovanFiles();
  });

  /** The rows of each view, and the same columns computed by brute-force.ts. */
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

  const written = async (): Promise<unknown[]> => {
    const kept = [
      ...["cancellation", "offer_left", "standing_offer", "period_figure", "market_figure"],
      ...["running_sum", "ended_offer", "best_price"],
    ];
    const tables = [
      "dex_block",
      "dex_offer",
      "dex_trade",
      ...kept.map((name) => `dex_private.${name}`),
    ];
    return Promise.all(
      tables.map(
        async (table) =>
          (await database.writer.query(`select * from ${table} as row order by row`)).rows,
      ),
    );
  };

  // Each block is an edge of a window for the trades 1, 6, 12 and 24 hours older.
  it("has correct figures, to the last digit, after each block", async () => {
    let figuresSeen = 0;
    for (const { block, time } of kovanBlocks(recording)) {
      const { head } = await loadRows(client, upTo(block));
      expect(head).toEqual({ block, time: new Date(time) });

      const { views, expected } = await viewsAndExpected({ block, time });

      expect({ block, ...views }).toEqual({ block, ...expected });
      figuresSeen += JSON.stringify(views).match(/"\d+\.\d{18}"/g)?.length ?? 0;
    }
    expect(kovanBlocks(recording).length).toBeGreaterThan(60);
    expect(figuresSeen).toBeGreaterThan(500);
  });

  it("is the same when loaded at once, and unchanged when loaded again", async () => {
    const grown = await written();

    const again = await loadRows(client, await readFolder(KOVAN));
    expect(again).toMatchObject({
      offers: { added: 0, changed: 0, unchanged: 14 },
      trades: { added: 0, changed: 0, unchanged: 72 },
      head: undefined,
    });
    expect(await written()).toEqual(grown);

    await database.empty();
    const { head } = await loadRows(client, await readFolder(KOVAN));
    expect(head).toEqual({ block: 7647958, time: new Date("2018-06-12T21:11:56Z") });
    expect(await written()).toEqual(grown);
  });

  it("gives a block with only cancellations the time of the previous block", async () => {
    const withTime = new Set([...recording.offers, ...recording.trades].map(({ block }) => block));
    const { rows } = await database.reader.query<{ number: number; time: Date; before: Date }>(
      `select number, time, lag(time) over (order by number) as before
      from dex_block
      order by number`,
    );
    const cancelling = rows.filter(({ number }) => !withTime.has(String(number)));
    expect(cancelling).toHaveLength(2);
    for (const { time, before } of cancelling) expect(time).toEqual(before);
  });

  it("has correct figures after an hour without rows", async () => {
    const moment = { block: 7_649_958, time: Date.parse("2018-06-13T04:00:00Z") };
    await client.query("select ingest.write_block($1, $2)", [moment.block, new Date(moment.time)]);

    const { views, expected } = await viewsAndExpected(moment);

    expect(views).toEqual(expected);
  });
});
