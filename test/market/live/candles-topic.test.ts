// The candles that clients follow are read by few statements, whatever the number of markets and intervals.
import { INTERVALS } from "../../../market/candle-intervals.ts";
import { topicOf, type Since, type Topic } from "../../../market/live/topic.ts";
import { candlesTopic } from "../../../market/live/topics/candles-topic.ts";
import { anAddress, aTrade, hours, MKR, registerMarkets, WETH, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { recordedReading } from "./recorded-reading.ts";

const WETHDAI = { base: "WETH", quote: "DAI" };
const MKRWETH = { base: "MKR", quote: "WETH" };

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    trades: [
      aTrade({ hour: 1, taker: anAddress("1") }),
      aTrade({ hour: 2 }),
      aTrade({ hour: 2, idx: 1, baseGem: MKR, quoteGem: WETH }),
    ],
    head: 24,
  });
});

/** What the topics have, and how many statements read candles for it. */
async function readCandles(topics: readonly Topic[], since?: Since) {
  const { sent, reading } = await recordedReading(database.reader);
  const bounds = { trades: 0, candles: 1000 };
  const { states } = await candlesTopic.read(reading, topics, { since, upTo: reading.now, bounds });
  const statements = sent.filter((text) => text.includes("dex_candles(")).length;
  return { states, statements };
}

it("gives each topic the candles of its market and interval", async () => {
  const topics = [
    ...INTERVALS.map((interval) => topicOf(candlesTopic, WETHDAI, interval)),
    topicOf(candlesTopic, MKRWETH, "1h"),
    topicOf(candlesTopic, { base: "no", quote: "such" }, "1m"),
  ];
  const { states, statements } = await readCandles(topics, { trade: 0, time: hours(1) });
  const startsOf = (name: string) => states.get(name)?.map(({ key }) => key);
  const [first, second] = [hours(1), hours(2)];
  expect(startsOf("candles:WETH/DAI:1m")).toEqual([first, second]);
  expect(startsOf("candles:WETH/DAI:1h")).toEqual([first, second]);
  expect(startsOf("candles:WETH/DAI:1d")).toHaveLength(1);
  expect(startsOf("candles:MKR/WETH:1h")).toEqual([second]);
  expect(startsOf("candles:no/such:1m")).toEqual([]);
  expect(states.get("candles:MKR/WETH:1h")?.[0]).toMatchObject({
    hash: expect.stringMatching(/^[0-9a-f]{32}$/),
    data: { time: second, trades: 1, complete: true },
  });
  expect(statements).toBe(1);
});

it("begins with the last candle of each", async () => {
  const topics = [topicOf(candlesTopic, WETHDAI, "1h"), topicOf(candlesTopic, MKRWETH, "1m")];
  const { states, statements } = await readCandles(topics);
  expect([...states.values()].map((rows) => rows.map(({ key }) => key))).toEqual([
    [hours(2)],
    [hours(2)],
  ]);
  expect(statements).toBe(1);
});

it("reads at most 5,000 candles by one statement", async () => {
  // 1,000 at most of each minute: five markets, five markets, and one.
  const pairs = Array.from({ length: 11 }, (_, n) => ({ base: `B${n}`, quote: "DAI" }));
  const topics = pairs.map((pair) => topicOf(candlesTopic, pair, "1m"));
  const { statements } = await readCandles(topics, { trade: 0, time: hours(1) });
  expect(statements).toBe(3);
});
