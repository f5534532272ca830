// Whose trade it is: one rule for all trades of a database, which a start says.
import { getAddress } from "viem";
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import { chainOf, EXCHANGE, senderOf, startInventedNode } from "./invented-chain.ts";
import { PAIR } from "./pair-events.ts";

const BLOCKS = chainOf([[], [{ do: "make" }], [{ do: "take", id: 1, lot: 3 }]]);
const SENDER = getAddress(senderOf(BLOCKS[2]!.logs[0]!.transactionHash));
const EVENTS = getAddress("0x005c9b2e5a1ab3c9f1b3ae2cd5f6a8ec0ef0c3a1");

it.each([
  ["a book alone", EXCHANGE, {}, EVENTS, "the taker of its event"],
  [
    "a book beside a pool",
    `${EXCHANGE},uniswap-v2:${PAIR}`,
    {},
    SENDER,
    "the sender of its transaction",
  ],
  [
    "a book beside a pool, by TAKER",
    `${EXCHANGE},uniswap-v2:${PAIR}`,
    { TAKER: "event" },
    EVENTS,
    "the taker of its event",
  ],
])("the trades of %s", async (_, exchange, given, taker, rule) => {
  await using database = await makeDatabase();
  const node = await startInventedNode(BLOCKS, 0);
  const settings = readIndexSettings({
    ...{ RPC_URL: node.url, EXCHANGE: exchange, FROM_BLOCK: "0", RPC_RATE: "10000", ...given },
  });
  const indexing = startIndexing({
    ...(settings as IndexSettings),
    ...{ databaseUrl: database.url, url: node.url },
  });
  await indexing.wrote(2);
  await indexing.stop();
  await node.stop();
  const { rows } = await database.owner.query("select taker from dex_trade");
  expect(rows).toEqual([{ taker }]);
  expect(indexing.events).toContainEqual({
    event: "notice",
    reason: `The taker of each trade is ${rule} (--taker, TAKER)`,
  });
});
