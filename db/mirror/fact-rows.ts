// The rows that blocks of facts are written as: with the database's ids of orders, and addresses with their checksum.
import type { Client } from "../connect.ts";
import { pairHash } from "../load/checksum.ts";
import { address, amount, hash, NotAccepted, time, wholeNumber } from "../load/values.ts";
import { MirrorError } from "./mirror-error.ts";
import type { FactBlock } from "./block-page.ts";

export interface OfferRow extends SwapRow {
  id: number;
  filled: boolean;
}

export interface TradeRow extends SwapRow {
  offer_id: number | null;
  taker: string;
  idx: number;
}

interface SwapRow {
  pair: string;
  maker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  tx: string;
  venue: string | null;
}

export interface PoolRow {
  venue: string;
  gem0: string;
  reserve0: string | null;
  gem1: string;
  reserve1: string | null;
  fee: number;
  tick_spacing: number | null;
  sqrt_price: string | null;
  tick: number | null;
  liquidity: string | null;
  nets: string | null;
}

export interface BlockRows {
  number: number;
  hash: string | null;
  parent: string | null;
  time: string;
  digest: string | null;
  offers: OfferRow[];
  trades: TradeRow[];
  killed: number[];
  pools: PoolRow[];
}

/** In the transaction that writes them: an order gets its id there. Throws a MirrorError for a value that is none. */
export async function rowsOfFacts(
  client: Client,
  blocks: readonly FactBlock[],
): Promise<BlockRows[]> {
  const ids = await idsOf(client, blocks);
  const idOf = (name: string): number => ids.get(name) ?? wholeNumber(name);
  return blocks.map((block) =>
    named(block.number, () => ({
      ...{
        number: wholeNumber(String(block.number)),
        time: time(block.time),
        digest: block.digest,
      },
      hash: block.hash === null ? null : hash(block.hash),
      parent: block.parent === null ? null : hash(block.parent),
      offers: block.offers.map((offer) => ({
        ...swapOf(offer),
        ...{ id: idOf(offer.offer), filled: offer.closed },
      })),
      trades: block.trades.map((trade) => ({
        ...swapOf(trade),
        offer_id: trade.offer === null ? null : idOf(trade.offer),
        taker: address(trade.taker),
        idx: wholeNumber(String(trade.idx)),
      })),
      killed: block.cancelled.map(idOf),
      pools: block.pools.map((pool) => ({
        ...{ venue: address(pool.venue), gem0: address(pool.gem0), gem1: address(pool.gem1) },
        reserve0: pool.reserve0 === null ? null : amount(pool.reserve0),
        reserve1: pool.reserve1 === null ? null : amount(pool.reserve1),
        fee: wholeNumber(String(pool.fee)),
        ...rangesOf(pool),
      })),
    })),
  );
}

function swapOf({
  maker,
  pair,
  lotGem,
  lotAmt,
  bidGem,
  bidAmt,
  tx,
  venue,
}: FactBlock["offers"][number] | FactBlock["trades"][number]): SwapRow {
  const row = {
    ...{ pair: hash(pair), maker: address(maker), tx: hash(tx) },
    ...{ lot_gem: address(lotGem), lot_amt: amount(lotAmt) },
    ...{ bid_gem: address(bidGem), bid_amt: amount(bidAmt) },
    venue: venue === null ? null : address(venue),
  };
  if (row.pair === pairHash(row.lot_gem, row.bid_gem)) return row;
  throw new NotAccepted("`pair` that is the hash of the row's two tokens");
}

const UNITS = /^\d{1,49}$/;
const NETS = /^(-?\d{1,6}:-?\d{1,50}( -?\d{1,6}:-?\d{1,50})*)?$/;

function rangesOf({ tickSpacing, sqrtPrice, tick, liquidity, nets }: FactBlock["pools"][number]) {
  const isRight =
    [sqrtPrice, liquidity].every((value) => value === null || UNITS.test(value)) &&
    [tickSpacing, tick].every((value) => value === null || Number.isSafeInteger(value)) &&
    (nets === null || NETS.test(nets));
  if (!isRight) throw new NotAccepted("the liquidity of a pool in ranges");
  return { tick_spacing: tickSpacing, sqrt_price: sqrtPrice, tick, liquidity, nets };
}

/** Names the block of a value that is refused. */
function named<Made>(number: number, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    throw new MirrorError(`block ${number} has a value that is not ${error.message}`);
  }
}

const ORDER = /^(0x[0-9a-f]{40}):(".*")$/s;

/** Of orders that their contract names, by these names: in the order of the chain. */
async function idsOf(
  client: Client,
  blocks: readonly FactBlock[],
): Promise<ReadonlyMap<string, number>> {
  const asked = new Map<string, { venue: string; ref: string; block: number }>();
  for (const { number: block, offers, trades, cancelled } of blocks) {
    const names = [...offers, ...trades].map(({ offer }) => offer ?? "");
    for (const name of [...names, ...cancelled]) {
      const [, contract = "", ref = ""] = name.startsWith("0x") ? (ORDER.exec(name) ?? []) : [];
      if (ref === "" || asked.has(name)) continue;
      asked.set(name, { venue: address(contract), ref: textOf(ref, block), block });
    }
  }
  if (asked.size === 0) return new Map();
  const given = [...asked.values()];
  const { rows } = await client.query<{ ids: number[] }>(
    "select ingest.offer_ids($1, $2, $3) as ids",
    [given.map(({ venue }) => venue), given.map(({ ref }) => ref), given.map(({ block }) => block)],
  );
  return new Map([...asked.keys()].map((name, n) => [name, rows[0]?.ids[n] ?? -1]));
}

function textOf(json: string, block: number): string {
  try {
    return String(JSON.parse(json));
  } catch {
    throw new MirrorError(`block ${block} has an order whose name is not a JSON string`);
  }
}
