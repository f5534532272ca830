// The exchange that writing is measured with, and the arithmetic of the report.
import { Exchange, FULL, SINGLE } from "../../bench/data/constant-exchange.ts";
import { goalsOf } from "../../bench/write/write-report.ts";
import type { Server } from "../../bench/write/results.ts";
import { bareName, fewName, FULL_BLOCK, NO_ROW, ONE_TRADE } from "../../bench/write/results.ts";

const aServer = (overrides: Partial<Server>): Server => ({
  postgresql: "18.4",
  writtenLive: { trades: 20, indexes: 700, all: 1100 },
  growth: { trades: 20, indexes: 901, all: 1400 },
  wal: { trades: 20, behindCheckpoint: 9000, block: 3001, tradesAlone: 3000 },
  times: times(20, 10),
  pages: Object.fromEntries(
    [FULL_BLOCK, ONE_TRADE, NO_ROW].flatMap((name) => [
      [name, 120],
      [fewName(name), 100],
    ]),
  ),
  takenBack: [
    { trades: 20, milliseconds: 1, pages: 100 },
    { trades: 1000, milliseconds: 1.3, pages: 50 },
  ],
  renamed: { trades: 50, touched: 100, milliseconds: 1 },
  registered: { pairs: 300, milliseconds: 5, pages: 200 },
  timesBesideQuiet: times(30, 10),
  pagesBesideQuiet: {},
  ...overrides,
});

/** Of each, three turns of which the middle one counts. */
function times(door: number, bare: number): Server["times"] {
  const turns = (median: number): number[] => [median, 1000, 0];
  return Object.fromEntries(
    [FULL_BLOCK, ONE_TRADE, NO_ROW].flatMap((name) => [
      [name, turns(door)],
      [bareName(name), turns(bare)],
      [fewName(name), turns(door)],
    ]),
  );
}

const found = (name: string, server = aServer({})): { value: string; isReached: boolean } => {
  const bound = goalsOf(server).find((one) => one.name === name);
  if (bound === undefined) throw new Error(`there is no bound ${name}`);
  return { value: bound.value, isReached: bound.isReached };
};

describe("a bound", () => {
  it("of bytes is reached at it, and missed above it", () => {
    expect(found("indexes a trade, behind the long history")).toEqual({
      value: "901 B",
      isReached: false,
    });
    expect(found("heap and indexes a trade, behind the long history").isReached).toBe(true);
    expect(found("write-ahead log a trade, in blocks of 20").isReached).toBe(true);
  });

  it("of a rate is the bare inserts' median time over that of the ingest functions", () => {
    // 10 ÷ 20, and beside quiet pairs 10 ÷ 30.
    expect(found(`${ONE_TRADE}: its rate against bare inserts`)).toEqual({
      value: "0.50 ×",
      isReached: true,
    });
    expect(found(`${ONE_TRADE}: its rate against bare inserts, beside quiet pairs`)).toEqual({
      value: "0.33 ×",
      isReached: false,
    });
  });

  it("of a block without rows is held against a bare insert of one trade", () => {
    // 20 ÷ 10
    expect(found(`${NO_ROW}: its time against a bare insert of one`).value).toBe("2.00 ×");
  });

  it("of a long history is its pages and its time over those of the short one", () => {
    // 120 ÷ 100 and 20 ÷ 20
    expect(found(`${FULL_BLOCK}: pages, likewise`)).toEqual({ value: "1.20 ×", isReached: true });
    expect(found(`${FULL_BLOCK}: time, the long history against the short`).value).toBe("1.00 ×");
  });

  it("of taking back is what a trade costs among many over what it costs among 20", () => {
    expect(found("taking 1,000 trades back, for each of them: time against 20")).toEqual({
      value: "1.30 ×",
      isReached: false,
    });
    expect(found("taking 1,000 trades back, for each of them: pages against 20").value).toBe(
      "0.50 ×",
    );
  });

  it("of renaming is how often a trade is written", () => {
    // 100 ÷ 50
    expect(found("renaming a token: times a trade is written").value).toBe("2.00 ×");
  });
});

describe("the exchange", () => {
  it("is the same each time, and goes on at the same pace", () => {
    const [one, other] = [new Exchange(1), new Exchange(1)];
    for (let block = 1; block <= 100; block += 1) {
      const made = one.next(FULL);
      expect(other.next(FULL)).toEqual(made);
      expect(made.number).toBe(block);
      expect(made.trades).toHaveLength(20);
      expect(made.offers).toHaveLength(15);
      if (block > 20) expect(made.cancelled).toHaveLength(8);
    }
  });

  it("takes seven offers of a block whole, and leaves what stands as it is", () => {
    const exchange = new Exchange(1);
    const lots = new Map<number, bigint>();
    const cancelled = new Set<number>();
    const units = (amount: string): bigint => BigInt(amount.replace(".", ""));
    const take = (trades: { offer_id: number; lot_amt: string }[]): void => {
      for (const { offer_id: id, lot_amt: amount } of trades) {
        expect(cancelled.has(id)).toBe(false);
        const left = lots.get(id);
        // The first trades are of offers from before the recording.
        if (left !== undefined) lots.set(id, left - units(amount));
      }
    };
    for (let block = 0; block < 200; block += 1) {
      const { trades, offers, cancelled: ended } = exchange.next(block % 10 === 9 ? SINGLE : FULL);
      take(trades);
      for (const id of ended) cancelled.add(id);
      for (const { id, lot_amt: amount } of offers) lots.set(id, units(amount));
    }
    const left = [...lots.values()];
    expect(left.every((amount) => amount >= 0n)).toBe(true);
    // 180 full blocks: 20 without trades of recorded offers, and 160 that take 7 whole, but for those
    // that are begun.
    const whole = left.filter((amount) => amount === 0n).length;
    expect(whole).toBeGreaterThan(160 * 7 - 140);
    expect(whole).toBeLessThanOrEqual(160 * 7 + 1);
  });

  it("goes on from where it was saved", () => {
    const exchange = new Exchange(1);
    for (let block = 0; block < 30; block += 1) exchange.next(FULL);
    const goBack = exchange.save();
    const made = exchange.next(FULL);
    goBack();
    expect(exchange.next(FULL)).toEqual(made);
  });
});
