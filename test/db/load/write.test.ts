// Taking checked rows over into the database.
import { connect, type Client } from "../../../db/connect.ts";
import { checksumAddress } from "../../../db/load/checksum.ts";
import { loadRows, type OfferRow, type TradeRow } from "../../../db/load/write.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aHash, anAddress, blockAt, hours } from "../../factories.ts";

const WETH = checksumAddress(anAddress("WETH"));
const DAI = checksumAddress(anAddress("DAI"));
const TOKENS = [
  { address: WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
  { address: DAI, symbol: "DAI", decimals: 18, name: "Dai" },
];
const PAIRS = [{ base: "weth", quote: "Dai", active: true }];

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await makeDatabase();
  client = await connect(database.url, { role: "dex_writer" });
});
beforeEach(async () => {
  await database.empty();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** A trade so many hours after genesis, in which the maker sells 1 WETH for 100 DAI. */
function trade(hour: number, columns: Partial<TradeRow> = {}): TradeRow {
  return {
    offer_id: 1,
    maker: checksumAddress(anAddress("maker")),
    taker: checksumAddress(anAddress("taker")),
    lot_gem: WETH,
    lot_amt: "1",
    bid_gem: DAI,
    bid_amt: "100",
    block: blockAt(hour),
    time: hours(hour),
    tx: aHash(`trade at ${hour}`),
    idx: 0,
    ...columns,
  };
}

function offer(id: number, columns: Partial<OfferRow> = {}): OfferRow {
  const { offer_id: _offer, taker: _taker, idx: _idx, ...facts } = trade(0);
  return { ...facts, id, lot_amt: "10", bid_amt: "1000", ...columns };
}

const load = (source: Parameters<typeof loadRows>[1], moveHead = true) =>
  loadRows(client, source, { moveHead });

async function all(sql: string): Promise<unknown[]> {
  const { rows } = await database.reader.query({ text: sql, rowMode: "array" });
  return rows;
}

it("loads tokens, pairs, offers and trades, and moves the head to the last block", async () => {
  const summary = await load({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1)],
    trades: [trade(1), trade(2)],
  });

  expect(summary.trades).toEqual({ rows: 2, added: 2, changed: 0, unchanged: 0 });
  expect(await all("select id, market, act, price from dex_trade order by id")).toEqual([
    ["1", "WETHDAI", "sell", "100.000000000000000000"],
    ["2", "WETHDAI", "sell", "100.000000000000000000"],
  ]);
  expect(await all("select id, market, filled from dex_offer")).toEqual([[1, "WETHDAI", false]]);
  expect(await all("select block from dex_head")).toEqual([[7200]]);
});
