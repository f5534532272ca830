// Reads from a database where the simulated exchange in it stands.
import type { Database } from "../connect.ts";
import { fromDecimal } from "./amount.ts";
import { MARKETS, type Market } from "./simulated-tokens.ts";
import type { ExchangeState } from "./simulated-exchange.ts";
import type { OpenOffer } from "./offer.ts";
import { isoTime } from "./schedule.ts";

/** The last block of a database; its time in whole seconds since 1970. */
export interface Head {
  block: number;
  time: number;
}

/** What a database holds: nothing yet, a simulated exchange, or somebody's data. */
export type Holdings = "empty" | "simulated" | "other";

/** The data is not simulated, and would be spoiled by trades that never were. */
export class OtherDataError extends Error {
  override name = "OtherDataError";
  constructor() {
    super(
      "The database holds other data than a simulated exchange, and is left as it is. " +
        "Simulate into an empty database, or write files by --csv.",
    );
  }
}

/** Somebody has written offers into the simulated exchange that it cannot have made. */
class ForeignOffer extends Error {
  override name = "ForeignOffer";
  constructor({ id, lot_amt, bid_amt }: OfferColumns, { base, quote }: Market) {
    super(
      `Offer ${id} of ${base.symbol}/${quote.symbol} gives ${lot_amt} for ${bid_amt}, more digits than the simulated ` +
        "exchange has: other data was written into its database. Serve that as it is with SEED_TRADES=0, " +
        "or give the exchange an empty database, by another DATA_DIR.",
    );
  }
}

/** What the database holds. */
export async function findHoldings(db: Database): Promise<Holdings> {
  const { rows } = await db.query<{ simulated: boolean; empty: boolean }>(
    `select
      exists (
        select
        from dex_pair as pair
        join unnest($1::text[], $2::text[]) as simulated (base_gem, quote_gem)
          using (base_gem, quote_gem)
      ) as simulated,
      not exists (select from dex_token)
        and not exists (select from dex_head) as empty`,
    [MARKETS.map(({ base }) => base.address), MARKETS.map(({ quote }) => quote.address)],
  );
  if (rows[0]?.simulated) return "simulated";
  return rows[0]?.empty ? "empty" : "other";
}

/** The head; null in a database without any block. */
export async function findHead(db: Database): Promise<Head | null> {
  const { rows } = await db.query<{ block: number; time: string }>(
    `select
      block,
      ceil(extract(epoch from time)) as time
    from dex_head`,
  );
  const [head] = rows;
  return head === undefined ? null : { block: head.block, time: Number(head.time) };
}

/** The simulated markets that are registered and active. */
export async function findActiveMarkets(db: Database): Promise<Market[]> {
  const { rows } = await db.query<{ base_gem: string; quote_gem: string }>(
    `select
      pair.base_gem,
      pair.quote_gem
    from dex_pair as pair
    where pair.active`,
  );
  const active = new Set(rows.map((row) => row.base_gem + row.quote_gem));
  return MARKETS.filter(({ base, quote }) => active.has(base.address + quote.address));
}

/** How many trades there are, over how many seconds up to the newest. */
export async function findDensity(db: Database): Promise<{ trades: number; seconds: number }> {
  const { rows } = await db.query<{ trades: string; seconds: string | null }>(
    `select
      count(*) as trades,
      extract(epoch from max(time) - min(time)) as seconds
    from dex_trade`,
  );
  return { trades: Number(rows[0]?.trades ?? 0), seconds: Number(rows[0]?.seconds ?? 0) };
}

/** The open offers, the last prices and the next offer id. */
export async function restore(db: Database): Promise<ExchangeState> {
  const [offers, prices, ids] = [
    await db.query<OfferColumns>(
      `select
        offer.id,
        offer.pair,
        offer.maker,
        offer.lot_amt,
        offer.bid_amt,
        offer.lot_amt - kept.lot_amt as taken,
        offer.block,
        extract(epoch from offer.time) as time,
        offer.tx
      from dex_private.standing_offer as standing
      join dex_offer as offer on offer.id = standing.offer_id
      join dex_private.offer_left as kept on kept.offer_id = offer.id
      where offer.pair = any ($1)
      order by offer.id`,
      [MARKETS.flatMap(({ hashes }) => [hashes.sell, hashes.buy])],
    ),
    await db.query<{ base_gem: string; quote_gem: string; last: string | null }>(
      `select
        pair.base_gem,
        pair.quote_gem,
        market.last
      from dex_market as market
      join dex_pair as pair using (base, quote)
      where market.last is not null`,
    ),
    await db.query<{ next: string }>(
      `select greatest(
        (select max(id) from dex_offer),
        (select max(offer_id) from dex_trade),
        0
      ) + 1 as next`,
    ),
  ];

  const lastPrices = new Map<string, bigint>();
  for (const { base_gem, quote_gem, last } of prices.rows) {
    const market = MARKETS.find(
      ({ base, quote }) => base.address === base_gem && quote.address === quote_gem,
    );
    if (market !== undefined && last !== null) {
      lastPrices.set(market.hashes.sell, fromDecimal(last, 18));
    }
  }
  return {
    nextOfferId: Number(ids.rows[0]?.next ?? 1),
    open: offers.rows.flatMap(openOffer),
    lastPrices,
  };
}

interface OfferColumns {
  id: number;
  pair: string;
  maker: string;
  lot_amt: string;
  bid_amt: string;
  taken: string;
  block: number;
  time: string;
  tx: string;
}

function openOffer(row: OfferColumns): OpenOffer[] {
  const market = MARKETS.find(({ hashes }) => hashes.sell === row.pair || hashes.buy === row.pair);
  if (market === undefined) return [];
  const act = market.hashes.sell === row.pair ? "sell" : "buy";
  const { base, quote } = market;
  const [lot, bid] = act === "sell" ? [base, quote] : [quote, base];
  const unitsOf = (amount: string, { decimals }: Market["base"]): bigint => {
    try {
      return fromDecimal(amount, decimals);
    } catch {
      throw new ForeignOffer(row, market);
    }
  };
  return [
    {
      id: row.id,
      market,
      act,
      maker: row.maker,
      lot: unitsOf(row.lot_amt, lot),
      bid: unitsOf(row.bid_amt, bid),
      taken: unitsOf(row.taken, lot),
      block: row.block,
      time: isoTime(Math.floor(Number(row.time))),
      tx: row.tx,
    },
  ];
}
