// Writes blocks through the functions of ingest, one by one like an indexer or many at once like the loader.
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../../db/connect.ts";
import { FULL, MARKETS, type Block, type Exchange, type Labels } from "./exchange.ts";

/** Registers the exchange's tokens and markets. */
export async function register(client: Client): Promise<void> {
  const tokens = new Map(
    MARKETS.flatMap(({ base, quote, baseGem, quoteGem }) => [
      [baseGem, base],
      [quoteGem, quote],
    ]),
  );
  for (const [address, symbol] of tokens) {
    await client.query("select ingest.register_token($1, $2, 18)", [address, symbol]);
  }
  for (const { baseGem, quoteGem } of MARKETS) {
    await client.query("select ingest.register_pair($1, $2)", [baseGem, quoteGem]);
  }
}

export interface Call {
  name: string;
  text: string;
  values: unknown[];
}

/** The call that writes this block, with its JSON already serialised, so that this is not timed. */
export const callFor = (block: Block): Call => ({
  name: "write_block",
  text: "select ingest.write_block($1, $2, null, null, $3, $4, $5)",
  values: [
    block.number,
    block.time,
    JSON.stringify(block.offers.map(({ id, ...offer }) => ({ id, ...asGiven(offer) }))),
    JSON.stringify(block.trades.map(asGiven)),
    block.cancelled,
  ],
});

function asGiven(row: Labels): object {
  const { market: _market, sells: _sells, price: _price, ...given } = row;
  return given;
}

/** Number of blocks staged and written at once. */
const CHUNK = 5_000;

/** Writes full blocks with this number of trades through the staging tables. */
export async function fill(client: Client, exchange: Exchange, trades: number): Promise<void> {
  for (let left = trades / FULL.trades; left > 0; left -= CHUNK) {
    const blocks = Array.from({ length: Math.min(left, CHUNK) }, () => exchange.next(FULL));
    await client.query("begin");
    await stage(client, blocks);
    await client.query("select ingest.write_blocks()");
    await client.query("commit");
  }
}

async function stage(client: Client, blocks: Block[]): Promise<void> {
  const killed = new Map(
    blocks.flatMap(({ number, cancelled }) => cancelled.map((id) => [id, number] as const)),
  );
  let line = 0;
  const offers = blocks.flatMap(({ number, time, offers: made }) =>
    made.map((offer) => {
      const end = killed.get(offer.id) ?? 0;
      killed.delete(offer.id);
      line += 1;
      return [
        ...[line, offer.id, offer.pair, offer.maker, offer.lot_gem, offer.lot_amt],
        ...[offer.bid_gem, offer.bid_amt, end, number, time.toISOString(), offer.tx],
      ];
    }),
  );
  await copy(client, OFFER_COLUMNS, offers);
  // The remaining cancellations concern offers of earlier chunks.
  await copy(
    client,
    "staged_cancellation (offer_id, block)",
    [...killed].map(([id, number]) => [id, number]),
  );
  const trades = blocks.flatMap(({ number, time, trades: dealt }) =>
    dealt.map((trade) => [
      ...[trade.idx, trade.offer_id, trade.pair, trade.maker, trade.taker, trade.lot_gem],
      ...[trade.lot_amt, trade.bid_gem, trade.bid_amt, number, time.toISOString(), trade.tx],
      trade.idx,
    ]),
  );
  await copy(client, TRADE_COLUMNS, trades);
}

const OFFER_COLUMNS =
  "staged_offer (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, block, time, tx)";
const TRADE_COLUMNS =
  "staged_trade (line, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx)";

async function copy(client: Client, target: string, rows: unknown[][]): Promise<void> {
  const lines = rows.map((row) => `${row.join("\t")}\n`);
  await pipeline(
    Readable.from(inParts(lines)),
    client.query(copyFrom(`copy ingest.${target} from stdin`)),
  );
}

function* inParts(lines: string[]): Generator<string> {
  for (let at = 0; at < lines.length; at += 1000) yield lines.slice(at, at + 1000).join("");
}
