// The fee of pools where no event says it: given with their contract, and recorded with the database.
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type InventedNode,
} from "./invented-chain.ts";
import { act, made, mint, PAIR, poolOf, sync } from "./pair-events.ts";

const settingsOf = (exchange: string) =>
  readIndexSettings({ RPC_URL: "http://127.0.0.1", EXCHANGE: exchange, FROM_BLOCK: "0" });
const feeOf = (exchange: string): number | undefined =>
  (settingsOf(exchange) as IndexSettings).decoder.otherFee;

it.each([
  ["/0.25%", 2500],
  ["@7/1%", 10_000],
  ["/10%", 100_000],
  ["/99.9999%", 999_999],
  ["/0.0001%", 1],
  ["/0%", 0],
  // That of the kind.
  ["/0.3%", undefined],
  ["@7", undefined],
])("uniswap-v2:0x…%s has a fee of %s millionths", (suffix, fee) => {
  expect(feeOf(`uniswap-v2:${EXCHANGE}${suffix}`)).toBe(fee);
});

it.each([
  `uniswap-v2:${EXCHANGE}/0.25`,
  `uniswap-v2:${EXCHANGE}/100%`,
  `uniswap-v2:${EXCHANGE}/0.00001%`,
  `uniswap-v2:${EXCHANGE}/-1%`,
  // No number of a setting begins with a zero that says nothing.
  `uniswap-v2:${EXCHANGE}/00.25%`,
  `uniswap-v2:${EXCHANGE}@5/01%`,
  `uniswap-v2:${EXCHANGE}/00%`,
  `uniswap-v2:${EXCHANGE}/%`,
  `uniswap-v2:${EXCHANGE}/0.25%@7`,
  // Takes no fee.
  `matching-market:${EXCHANGE}/0.25%`,
])("%s is refused", (exchange) => {
  expect(settingsOf(exchange)).toEqual({
    problems: [
      expect.stringMatching(
        /^EXCHANGE: ".*" is not the address of .* the fee of its pools as \/0\.25%, of uniswap-v2;/,
      ),
    ],
  });
});

describe("an indexer", () => {
  let database: TestDatabase;
  let node: InventedNode;
  // Two factories make a pool each.
  const begun = [sync(1000n, 2000n), mint(1000n, 2000n)];
  const acts: Act[][] = [
    [],
    [act([made(1n)], EXCHANGE), act(begun, poolOf(1n))],
    [act([made(1n, poolOf(2n))], PAIR), act(begun, poolOf(2n))],
  ];

  beforeAll(async () => {
    database = await makeDatabase();
    node = await startInventedNode(chainOf(acts), 0);
  });
  afterAll(async () => {
    await node.stop();
    await database.drop();
  });

  const start = (exchange: string): Indexing =>
    startIndexing({
      ...(settingsOf(exchange) as IndexSettings),
      ...{ databaseUrl: database.url, url: node.url, rpcUrls: [node.url] },
      ...{ requestsPerSecond: 10_000, taker: "event", finality: 64 },
    });

  it("gives each pool the fee of its factory, also in a later start", async () => {
    for (const settings of [
      `uniswap-v2:${EXCHANGE}/0.25%,uniswap-v2:${PAIR}@1`,
      `uniswap-v2:${EXCHANGE}/0.25%,uniswap-v2:${PAIR}@1/0.3%`,
    ]) {
      acts.push([act([sync(1000n, 2000n)], poolOf(1n))]);
      node.blocks = chainOf(acts);
      const indexing = start(settings);
      await indexing.wrote(acts.length - 1);
      await indexing.stop();
    }
    const { rows } = await database.owner.query("select venue, fee from dex_pool order by venue");
    expect(rows).toEqual([
      { venue: expect.stringMatching(new RegExp(poolOf(1n), "i")), fee: 2500 },
      { venue: expect.stringMatching(new RegExp(poolOf(2n), "i")), fee: 3000 },
    ]);
  });

  it.each([
    [`uniswap-v2:${EXCHANGE},uniswap-v2:${PAIR}@1`],
    [`uniswap-v2:${EXCHANGE}/0.2%,uniswap-v2:${PAIR}@1`],
    [`uniswap-v2:${EXCHANGE}/0.25%,uniswap-v2:${PAIR}@1/0.2%`],
  ])("refuses %s then", async (exchange) => {
    const recorded = `${EXCHANGE}/0.25%,uniswap-v2:${PAIR}@1`;
    const [given = ""] = exchange.split("uniswap-v2:").slice(1);
    await expect(start(exchange).ended).rejects.toThrow(
      `The database was filled from contract ${recorded}, not ${given}`,
    );
  });

  it("takes other fees and first blocks of the same contracts once all blocks are taken back", async () => {
    await database.writer.query("select ingest.take_back(-1)");
    await expect(start(`uniswap-v2:${EXCHANGE}/0.25%`).ended).rejects.toThrow(
      "The database was filled from contract",
    );
    const indexing = start(`uniswap-v2:${EXCHANGE},uniswap-v2:${PAIR}@2/0.2%`);
    await indexing.wrote(acts.length - 1);
    await indexing.stop();
    const { rows } = await database.owner.query("select fee from dex_pool order by venue");
    expect(rows).toEqual([{ fee: 3000 }, { fee: 2000 }]);
  });
});
