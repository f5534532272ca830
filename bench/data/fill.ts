// Writes blocks through the functions of ingest, one by one like an indexer.
import type { Client } from "../../db/connect.ts";
import { loadRows } from "../../db/load/write-rows.ts";
import { MARKETS, type Block, type Labels } from "./constant-exchange.ts";
import type { Exchange, Shape } from "./constant-exchange.ts";

/** Registers the exchange's tokens and markets. */
export const register = (client: Client): Promise<unknown> =>
  loadRows(client, {
    tokens: MARKETS.flatMap(({ base, quote, baseGem, quoteGem }) => [
      { address: baseGem, symbol: base, decimals: 18 },
      { address: quoteGem, symbol: quote, decimals: 18 },
    ]),
    pairs: MARKETS.map(({ base, quote }) => ({ base, quote })),
  });

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

/** Writes blocks that are not timed, so commits do not wait for the disk. */
export async function fill(
  client: Client,
  exchange: Exchange,
  shape: Shape,
  blocks: number,
): Promise<void> {
  await client.query("set synchronous_commit = off");
  for (let made = 0; made < blocks; made += 1) await client.query(callFor(exchange.next(shape)));
  await client.query("set synchronous_commit = on");
}
