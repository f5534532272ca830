// Plays a random history of a kind of exchange on a test chain while an indexer, a process, follows it, is killed, and
// begins again; then compares the database with the receipts, the contracts, and one that is indexed afresh.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "viem";
import { verify } from "../../db/verify/verify-database.ts";
import type { PoolPrice } from "../brute-force.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { readWritten } from "../faults/right-answers.ts";
import { compare } from "../histories.ts";
import type { TestChain } from "./chain.ts";
import { comparable, indexedRows } from "./indexed-rows.ts";
import { caughtUp, startIndexerProcess } from "./indexer-process.ts";
import { seededRandom } from "./seeded-random.ts";

/** A trade, with its amounts in the smallest units. */
export interface KindTrade {
  block: number;
  idx: number;
  tx: string;
  venue: string;
  maker: string;
  taker: string;
  lot_gem: string;
  lot: string;
  bid_gem: string;
  bid: string;
}

/** A row of `dex_book`. */
export interface Level {
  act: "buy" | "sell";
  price: string;
  vol: string;
  quote_vol: string;
  offers: number;
}

/** A kind of exchange with its contracts on the chain. */
export interface PlayedKind {
  kind: string;
  exchange: Address;
  fromBlock: number;
  tokens: readonly { symbol: string; address: Address; decimals: number }[];
  quotes: readonly string[];
  /** Sends a transaction of any sort, which may fail. */
  act(random: (below: number) => number): Promise<unknown>;
  /** The trades that the receipts have, by its own arithmetic. */
  trades(): Promise<KindTrade[]>;
  /** Throws where the database is not as the contracts are now. Gives the best prices of pools by them, and how many levels it compared. */
  check(database: TestDatabase): Promise<{ pools: PoolPrice[]; levels: number }>;
}

export interface KindPlayed {
  reorganisations: number;
  kills: number;
  trades: number;
}

const DEEPEST = 20;
const FINALITY = DEEPEST + 1;

/** How a history is played: `prove` has long ones, the suites short ones. */
export interface Length {
  rounds: number;
  /** The indexer runs for up to so long before it is killed, in milliseconds. */
  killedWithin: number;
}
export const LONG: Length = { rounds: 7, killedWithin: 2500 };
export const SHORT: Length = { rounds: 3, killedWithin: 1500 };

export async function playKind(
  chain: TestChain,
  played: PlayedKind,
  { seed, rounds, killedWithin }: Length & { seed: number },
): Promise<KindPlayed> {
  const random = seededRandom(seed);
  const folder = await mkdtemp(join(tmpdir(), "kind-"));
  const list = join(folder, "tokens.csv");
  const lines = played.tokens.map((token) => `${token.address},${token.symbol},,${token.decimals}`);
  await writeFile(list, ["address,symbol,name,decimals", ...lines, ""].join("\n"));
  const settings = {
    ...{ RPC_URL: chain.url, EXCHANGE: `${played.kind}:${played.exchange}@${played.fromBlock}` },
    ...{ FINALITY: String(FINALITY), TOKEN_LIST: list, QUOTES: played.quotes.join() },
  };
  await using database = await makeDatabase();
  await using fresh = await makeDatabase();
  const counted = { reorganisations: 0, kills: 0, trades: 0 };
  const begin = await chain.snapshot();
  await chain.setAutomine(false);
  const snapshots: `0x${string}`[] = [];
  const mine = async (blocks: number): Promise<void> => {
    for (let n = 0; n < blocks; n += 1) {
      snapshots.push(await chain.snapshot());
      const acts = random(5);
      for (let act = 0; act < acts; act += 1) await played.act(random);
      await chain.mine(1, { secondsApart: random(3) * random(1800) });
    }
  };
  let indexer = startIndexerProcess(database, settings);
  try {
    for (let round = 0; round < rounds; round += 1) {
      // It follows, or is killed in the midst of what it does.
      const work = mine(2 + random(8)).then(async () => {
        if (random(3) === 0) return;
        const depth = Math.min(snapshots.length, 1 + random(random(2) === 0 ? 3 : DEEPEST));
        await chain.revert(snapshots.splice(-depth)[0]!);
        await mine(depth + 1 + random(3));
        counted.reorganisations += 1;
      });
      if (random(4) > 0) {
        await sleep(random(killedWithin));
        await indexer.kill();
        counted.kills += 1;
        indexer = startIndexerProcess(database, settings);
        await work;
      } else {
        await work;
        await caughtUp(chain, database, indexer);
        await indexer.stop();
        indexer = startIndexerProcess(database, settings);
      }
    }
    // All markets are final then.
    await chain.mine(FINALITY + 1);
    await caughtUp(chain, database, indexer);
    await indexer.stop();
    indexer = startIndexerProcess(fresh, settings);
    await caughtUp(chain, fresh, indexer);
    await indexer.stop();

    const [rows, right] = await Promise.all(
      [database, fresh].map(async ({ owner }) => {
        const { head: _head, ...all } = await indexedRows(owner);
        return comparable(all);
      }),
    );
    assert.deepEqual(rows, right);
    assert.deepEqual(await verify(await database.connect("dex_owner")), []);
    const expected = await played.trades();
    assert.deepEqual(await tradesOf(database), expected);
    await compareKind(played, database);
    counted.trades = expected.length;
    return counted;
  } finally {
    await indexer.kill();
    await chain.revert(begin);
    await chain.setAutomine(true);
    await rm(folder, { recursive: true });
  }
}

/**
 * Throws where the database is not as the contracts are now, or a figure of a market is not that of brute force. Resolves to how many
 * levels were compared.
 */
export async function compareKind(played: PlayedKind, database: TestDatabase): Promise<number> {
  const { pools, levels } = await played.check(database);
  const client = await database.connect("dex_owner");
  const { recording, head: moment } = await readWritten(client);
  await compare(client, { recording: { ...recording, pools }, moment });
  return levels;
}

/** In the order of their ids. */
export async function tradesOf({ owner }: TestDatabase): Promise<KindTrade[]> {
  const { rows } = await owner.query<KindTrade>(
    `select
      trade.block, trade.idx, trade.tx, trade.venue, trade.maker, trade.taker,
      trade.lot_gem,
      trunc(trade.lot_amt * 10::numeric ^ lot.decimals)::text as lot,
      trade.bid_gem,
      trunc(trade.bid_amt * 10::numeric ^ bid.decimals)::text as bid
    from dex_trade as trade
    join dex_token as lot on lot.address = trade.lot_gem
    join dex_token as bid on bid.address = trade.bid_gem
    order by trade.id`,
  );
  return rows;
}
