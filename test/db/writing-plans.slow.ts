// The pages that a write reads do not grow with the history: in a session with plans from empty tables, and
// with tables that are not analyzed and analyzed.
import type { Client } from "../../db/connect.ts";
import { pairHash } from "../../db/load/checksum.ts";
import { openClient } from "../database.ts";
import { aHash, anOffer, aTrade, DAI, registerMarkets, WETH, type TradeRow } from "../factories.ts";
import { useDatabase } from "../served.ts";

const FEW = 5_000;
const MANY = 200_000;
/** Trades of a one-minute block, so that the shorter history is longer than a day; four trades an offer. */
const A_BLOCK = 2;

const database = useDatabase((writer) => registerMarkets(writer));
let client: Client;
beforeAll(async () => {
  client = await openClient(database.url, { role: "dex_writer" });
  // The session plans its statements while the tables are empty.
  await writeBlock(1, "2025-12-31T00:00:00Z", 1, 1);
});
afterAll(() => client.end());

/** The pages read by a statement and by the functions it calls. */
async function pagesOf(text: string, values: unknown[]): Promise<number> {
  const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    values,
  );
  const { Plan: plan } = rows[0]!["QUERY PLAN"][0];
  return plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!;
}

let made = 1_000_000;

/** The maker of an offer of `fill`. */
const makerOf = (offer: number): string =>
  `0x${((offer * 7919) % 100).toString(16).padStart(40, "0")}`;

/** Writes a block with trades and cancellations of earlier offers, and new offers; returns the pages read. */
async function writeBlock(
  block: number,
  time: string,
  trades: number,
  offers: number,
  killed: number[] = [],
): Promise<number> {
  const tradeOf = (n: number): TradeRow => {
    const offer = 1 + ((n * 37) % 100);
    return {
      ...aTrade({ offer_id: offer, maker: makerOf(offer), idx: n, block, time }),
      tx: aHash(`${block} ${n}`),
    };
  };
  return pagesOf("select ingest.write_block($1, $2, null, null, $3, $4, $5)", [
    block,
    time,
    JSON.stringify(
      Array.from({ length: offers }, () => {
        const { killed: _killed, ...offer } = anOffer({ id: (made += 1), block, time });
        return offer;
      }),
    ),
    JSON.stringify(Array.from({ length: trades }, (_, n) => tradeOf(n))),
    killed,
  ]);
}

/** Writes trades `from` to `to`, three quarters of them in the market, and their offers. */
async function fill(from: number, to: number): Promise<void> {
  await client.query("begin");
  await client.query(
    `insert into ingest.staged_trade (
      line, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx
    )
    select
      n,
      case when n % 4 = 0 then 100000000 + n else n / 4 end,
      $6,
      '0x' || lpad(to_hex(n / 4 * 7919 % 100), 40, '0'),
      '0x' || lpad(to_hex(n::bigint * 104729 % 500), 40, '0'),
      $4,
      1 + n % 10,
      case when n % 4 = 0 then '0x' || lpad(to_hex(n % 20), 40, '0') else $5 end,
      100 + n % 7,
      100 + n / $3::integer,
      timestamptz '2026-01-01 00:00:00+00' + n / $3::integer * interval '1 minute',
      '0xa' || lpad(to_hex(n), 63, '0'),
      n % $3::integer
    from generate_series($1::integer, $2::integer) as n`,
    [from, to, A_BLOCK, WETH, DAI, pairHash(WETH, DAI)],
  );
  await client.query(
    `insert into ingest.staged_offer (
      line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx
    )
    select
      n,
      n,
      $6,
      '0x' || lpad(to_hex(n * 7919 % 100), 40, '0'),
      $4,
      1000,
      $5,
      100000 + n % 500,
      100 + 4 * n / $3::integer,
      timestamptz '2026-01-01 00:00:00+00' + 4 * n / $3::integer * interval '1 minute',
      '0xb' || lpad(to_hex(n), 63, '0')
    from generate_series(($1::integer + 3) / 4, $2::integer / 4) as n`,
    [from, to, A_BLOCK, WETH, DAI, pairHash(WETH, DAI)],
  );
  await client.query("select ingest.write_blocks()");
  await client.query("commit");
}

interface Pages {
  block: number;
  empty: number;
  takenBack: number;
  registered: number;
}

/** The pages read by writes after this history; the writes are removed again. */
async function measure(): Promise<Pages> {
  const { rows } = await client.query<{ block: number; time: Date }>("select * from dex_head");
  const { block, time } = rows[0]!;
  const at = (blocks: number): string => new Date(time.getTime() + blocks * 60_000).toISOString();
  // A warm-up: the first write prunes pages that the load left.
  await writeBlock(block + 1, at(1), 20, 15);
  const pages = {
    block: await writeBlock(block + 2, at(2), 20, 15, [made - 1, made - 2, made - 3, made - 4]),
    empty: await writeBlock(block + 3, at(3), 0, 0),
    takenBack: await pagesOf("select ingest.take_back($1)", [block + 1]),
    registered: await pagesOf("select ingest.register_token($1, 'QUIET', 18)", [
      `0x${block.toString(16).padStart(40, "c")}`,
    ]),
  };
  await client.query("select ingest.take_back($1)", [block]);
  return pages;
}

/** Allows another level of each index for a history 40 times as long; a whole table has thousands of pages. */
function expectSimilar(few: Pages, many: Pages): void {
  for (const [write, pages] of Object.entries(many)) {
    const most = 2 * few[write as keyof Pages] + 20;
    expect({ write, pages, isWithin: pages <= most }).toEqual({ write, pages, isWithin: true });
  }
}

it("a write reads no more pages after 200,000 trades than after 5,000", async () => {
  await fill(4, FEW);
  const few = await measure();
  await fill(FEW + 2 * A_BLOCK, MANY);
  const neverAnalyzed = await measure();
  expectSimilar(few, neverAnalyzed);

  await database.owner.query("analyze");
  expectSimilar(few, await measure());

  // A new session makes new plans.
  await client.end();
  client = await openClient(database.url, { role: "dex_writer" });
  expectSimilar(few, await measure());
});

it("a write reads no more pages behind 5,000 trades without a price than behind 100", async () => {
  // From a day on, so that the windows have as many trades.
  let block = 10_000_000;
  const start = Date.parse("2027-01-01T00:00:00Z");
  const at = (blocks: number): string => new Date(start + blocks * 60_000).toISOString();
  const unpriced = async (count: number): Promise<number> => {
    await client.query("begin");
    await client.query(
      `insert into ingest.staged_trade (
        line, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx
      )
      select
        n, 900000 + n, $5, $6, $6, $3, 0, $4, 1, $1::integer + n,
        $7::timestamptz + n * interval '1 minute', '0xc' || lpad(to_hex($1::integer + n), 63, '0'), 0
      from generate_series(1, $2::integer) as n`,
      [block, count, WETH, DAI, aHash("unpriced"), DAI, at(block - 10_000_000)],
    );
    const written = await pagesOf("select ingest.write_blocks()", []);
    await client.query("commit");
    block += count;
    return written;
  };
  const lastTakenBack = (): Promise<number> => pagesOf("select ingest.take_back($1)", [block - 1]);

  const measured = async (count: number): Promise<Record<string, number>> => {
    await unpriced(count);
    return { written: await unpriced(1), takenBack: await lastTakenBack() };
  };
  const few = await measured(100);
  const many = await measured(5_000);
  for (const [write, pages] of Object.entries(many)) {
    const most = 2 * few[write]! + 20;
    expect({ write, pages, isWithin: pages <= most }).toEqual({ write, pages, isWithin: true });
  }
});
