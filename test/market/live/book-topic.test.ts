// The books that clients follow are read by one statement, each market's once.
import { bookTopic } from "../../../market/live/topics/book-topic.ts";
import { topicOf, type Topic } from "../../../market/live/topic.ts";
import { anOffer, MKR, registerMarkets, WETH, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { recordedReading } from "./recorded-reading.ts";

const WETHDAI = { base: "WETH", quote: "DAI" };
const MKRWETH = { base: "MKR", quote: "WETH" };

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    offers: [
      // Five levels that sell at 101 to 105, of which the best has two offers, and two that buy, at 99 and 98.
      ...[101, 101, 102, 103, 104, 105].map((price) =>
        anOffer({ base: "1", quote: String(price) }),
      ),
      ...[99, 98].map((price) => anOffer({ side: "buy", base: "1", quote: String(price) })),
      anOffer({ base: "1", quote: "3", baseGem: MKR, quoteGem: WETH }),
    ],
  });
});

/** What the topics have, and how many statements read books for it. */
async function readBooks(topics: readonly Topic[]) {
  const { sent, reading } = await recordedReading(database.reader);
  const bounds = { trades: 0, candles: 0 };
  const span = { since: undefined, upTo: reading.now, bounds };
  const { states } = await bookTopic.read(reading, topics, span);
  const shown = Object.fromEntries(
    topics.map(({ name }) => [
      name,
      states.get(name)?.map(({ key, data }) => [key.split(".")[0], data]),
    ]),
  );
  return { shown, statements: sent.filter((text) => text.includes("dex_book(")).length };
}

it("gives each topic the best levels of each side up to its depth", async () => {
  const { shown, statements } = await readBooks([
    ...[1, 2, 1000].map((depth) => topicOf(bookTopic, WETHDAI, depth)),
    topicOf(bookTopic, MKRWETH, 1),
    topicOf(bookTopic, { base: "no", quote: "such" }, 5),
  ]);
  const level = (act: string, price: number, offers = 1) => [
    `${act} ${price}`,
    expect.objectContaining({ act, offers }),
  ];
  expect(shown).toEqual({
    "book:WETH/DAI:1": [level("buy", 99), level("sell", 101, 2)],
    "book:WETH/DAI:2": [
      level("buy", 99),
      level("buy", 98),
      level("sell", 101, 2),
      level("sell", 102),
    ],
    "book:WETH/DAI:1000": [
      ...[level("buy", 99), level("buy", 98), level("sell", 101, 2)],
      ...[102, 103, 104, 105].map((price) => level("sell", price)),
    ],
    "book:MKR/WETH:1": [level("sell", 3)],
    "book:no/such:5": [],
  });
  expect(statements).toBe(1);
});

it("reads at most 5,000 levels of a side by one statement", async () => {
  const pairs = Array.from({ length: 11 }, (_, n) => ({ base: `B${n}`, quote: "DAI" }));
  // Five markets, five markets, and one.
  const { statements } = await readBooks(pairs.map((pair) => topicOf(bookTopic, pair, 1000)));
  expect(statements).toBe(3);
});
