// Uniswap's own v2 pairs and router: best prices and levels of the book beside what the router gives, and rows beside what tokens moved.
import { parseEventLogs } from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { makeDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { startIndexing } from "./indexing.ts";
import { compareKind, playKind, SHORT, tradesOf } from "./kind-histories.ts";
import { deployV2, type PlayedV2 } from "./random-v2.ts";
import { seededRandom } from "./seeded-random.ts";
import { V2_ABI } from "./v2-pools.ts";

const ROUNDS = 6;
const ACTS = 12;

let chain: TestChain;
let play: PlayedV2;
beforeAll(async () => {
  chain = await startChain();
  play = await deployV2(chain);
});
afterAll(() => chain.stop());

it("has what the contracts say after a random history in which the indexer is killed by SIGKILL", async () => {
  const { trades, reorganisations, kills } = await playKind(chain, play, { seed: 8, ...SHORT });
  expect(trades).toBeGreaterThan(5);
  expect(reorganisations).toBeGreaterThan(1);
  expect(kills).toBeGreaterThan(1);
}, 600_000);

it("has the prices that the router gives, and the rows that tokens moved by", async () => {
  await play.makeAll();
  const random = seededRandom(11);
  const database = await makeDatabase();
  const indexing = startIndexing({
    ...{ databaseUrl: database.url, url: chain.url, fromBlock: play.fromBlock, finality: 0 },
    ...{ exchange: play.exchange, decoder: uniswapV2, taker: "sender" },
    tokenList: {
      ...{ path: "tokens.json", quotes: play.quotes },
      tokens: play.tokens.map((token) => ({ ...token, name: token.symbol })),
    },
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let n = 0; n < ACTS; n += 1) await play.act(random);
    await indexing.wrote(await chain.client.getBlockNumber());
    // Ten of each side of the three markets.
    expect(await compareKind(play, database)).toBe(60);
  }
  await indexing.stop();

  const trades = await play.trades();
  expect(trades.length).toBeGreaterThan(30);
  expect(await tradesOf(database)).toEqual(trades);
  const logs = await chain.client.getLogs({ fromBlock: BigInt(play.fromBlock) });
  const swaps = parseEventLogs({ abi: V2_ABI, eventName: "Swap", logs });
  // Those that are no trade, and those with both tokens in.
  expect(swaps.length - trades.length).toBeGreaterThan(3);
  const isTrade = (tx: string) => trades.some((trade) => trade.tx === tx);
  const netted = swaps.filter(
    ({ args, transactionHash: tx }) => args.amount0In > 0n && args.amount1In > 0n && isTrade(tx),
  );
  expect(netted.length).toBeGreaterThan(3);
  await database.drop();
});
