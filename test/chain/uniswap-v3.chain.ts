// The pools of Uniswap's own v3 factory, indexed while they are made and trade: rows beside the receipts, prices beside slot0, levels beside the quoter.
import { uniswapV3 } from "../../chain/exchanges/uniswap-v3.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { comparable, indexedRows } from "./indexed-rows.ts";
import { startIndexing } from "./indexing.ts";
import { compareKind, playKind, SHORT, tradesOf } from "./kind-histories.ts";
import { deployV3, type PlayedV3 } from "./random-v3.ts";
import { seededRandom } from "./seeded-random.ts";

const ROUNDS = 4;
const ACTS = 14;

let chain: TestChain;
let play: PlayedV3;
beforeAll(async () => {
  chain = await startChain();
  play = await deployV3(chain);
});
afterAll(() => chain.stop());

it("has what the contracts say after a random history in which the indexer is killed by SIGKILL", async () => {
  const { trades, reorganisations, kills } = await playKind(chain, play, { seed: 5, ...SHORT });
  expect(trades).toBeGreaterThan(5);
  expect(reorganisations).toBeGreaterThan(1);
  expect(kills).toBeGreaterThan(1);
}, 600_000);

it("has what the contracts say after random swaps, ranges and reorganisations, also where it is stopped at any time", async () => {
  const random = seededRandom(5);
  await chain.setAutomine(false);
  await play.makeAll();

  const acts = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      await play.act(random);
      if (random(3) > 0) await chain.mine();
    }
    await chain.mine();
  };

  const database = await makeDatabase();
  const start = (databaseUrl: string) =>
    startIndexing({
      ...{ databaseUrl, url: chain.url, fromBlock: play.fromBlock, taker: "sender", finality: 12 },
      ...{ exchange: play.exchange, decoder: uniswapV3 },
      tokenList: {
        ...{ path: "tokens.json", quotes: play.quotes },
        tokens: play.tokens.map((token) => ({ ...token, name: token.symbol })),
      },
    });
  const bookAt = async (block: number): Promise<object[]> => {
    const client = await database.connect("dex_reader");
    await client.query("begin");
    await client.query("select set_config('dex.as_of_block', $1, true)", [String(block)]);
    const { rows } = await client.query<object>(
      `select pair, bid, ask, act, book.price, book.vol, book.quote_vol
      from dex_market
      cross join lateral dex_book(split_part(pair, '/', 1), split_part(pair, '/', 2), 100) as book
      order by pair, act, book.price`,
    );
    await client.query("rollback");
    return rows;
  };
  const books = new Map<number, object[]>();
  let indexing = start(database.url);
  for (let round = 0; round < ROUNDS; round += 1) {
    await acts(ACTS);
    const snapshot = await chain.snapshot();
    await acts(4);
    if (random(2) === 0) await indexing.wrote(await chain.client.getBlockNumber());
    if (round % 2 === 0) {
      await chain.revert(snapshot);
      await acts(6);
    }
    await chain.mine(14);
    const head = Number(await chain.client.getBlockNumber());
    if (random(2) === 0) {
      // In the midst of what it does.
      await indexing.stop();
      indexing = start(database.url);
    }
    await indexing.wrote(head);
    // The book of the market of two pools is read for each of them.
    expect(await compareKind(play, database)).toBeGreaterThanOrEqual(30);
    books.set(head, await bookAt(head));
  }
  await indexing.stop();
  expect(indexing.events.filter(({ event }) => event === "failure" || event === "doubt")).toEqual(
    [],
  );
  for (const [block, book] of books) expect(await bookAt(block)).toEqual(book);
  expect(await verify(await database.connect("dex_owner"))).toEqual([]);

  const { rows } = await database.owner.query<{ empty: number; even: number }>(
    `select
      count(*) filter (where gross = 0)::integer as empty,
      count(*) filter (where net = 0 and gross > 0)::integer as even
    from dex_private.pool_tick`,
  );
  expect(rows[0]!.empty).toBeGreaterThan(1);
  expect(rows[0]!.even).toBeGreaterThan(1);

  const trades = await play.trades();
  expect(trades.length).toBeGreaterThan(20);
  expect(await tradesOf(database)).toEqual(trades);

  const fresh = await makeDatabase();
  const again = start(fresh.url);
  await again.wrote(await chain.client.getBlockNumber());
  await again.stop();
  const { head: _head, ...all } = await indexedRows(database.owner);
  const { head: _other, ...anew } = await indexedRows(fresh.owner);
  expect(comparable(anew)).toEqual(comparable(all));
  await Promise.all([database.drop(), fresh.drop()]);
});
