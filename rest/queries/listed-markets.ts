// What the listing formats say of each market: dex_summary, with the pair and its tokens.
import type { Database } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import type { KeyedRow } from "../records.ts";
import {
  figureOrNull,
  pairIsNamed,
  readSnapshot,
  SELECT_MOMENT,
  statementFor,
  type Snapshot,
} from "./snapshot.ts";

/** A figure that does not exist is null. */
export interface ListedMarket extends KeyedRow {
  base: string;
  quote: string;
  baseGem: string;
  quoteGem: string;
  /** As the token gives it. */
  baseName: string | null;
  quoteName: string | null;
  basePrecision: number;
  quotePrecision: number;
  active: boolean;
  last: string | null;
  percent: string | null;
  low: string | null;
  high: string | null;
  bid: string | null;
  ask: string | null;
  vol: string | null;
  quoteVol: string | null;
  /** Without tokens that are worth a dollar, always null. */
  liquidityInUsd: string | null;
}

// A symbol that the pairs have for several tokens is worth nothing: which of them is meant is not known.
const USD_TOKEN = `
  with listed_token as (
    select pair.base as symbol, pair.base_gem as gem
    from dex_pair as pair
    union
    select pair.quote, pair.quote_gem
    from dex_pair as pair
  ),
  usd_token as (
    select min(listed_token.gem) as gem
    from listed_token
    group by listed_token.symbol
    having count(*) = 1
      and listed_token.symbol = any ($1)
    union
    select listed_token.gem
    from listed_token
    where lower(listed_token.gem) = any ($1)
  )`;

// What is left of the open offers: quote of those that buy base, base of those that sell it, the one in units
// of the other at the last price. Null where there is no price for what has to be converted.
const LIQUIDITY = `
    left join lateral (
      select
        pair.quote_gem in (select usd_token.gem from usd_token) as is_quote,
        pair.base_gem in (select usd_token.gem from usd_token) as is_base
    ) as usd on true
    left join lateral (
      select
        coalesce(sum(kept.lot_amt) filter (where standing.act = 'buy'), 0) as quote_amt,
        coalesce(sum(kept.lot_amt) filter (where standing.act = 'sell'), 0) as base_amt
      from dex_private.standing_offer as standing
      join dex_private.offer_left as kept on kept.offer_id = standing.offer_id
      where standing.market_id = pair.id
        and (usd.is_quote or usd.is_base)
    ) as offered on true`;
const LIQUIDITY_IN_USD = `
  case
    when usd.is_quote and offered.base_amt = 0 then offered.quote_amt
    when usd.is_quote then offered.quote_amt + round(offered.base_amt * summary.last, 18)
    when usd.is_base and offered.quote_amt = 0 then offered.base_amt
    when usd.is_base then offered.base_amt + dex_private.quotient(offered.quote_amt, summary.last)
  end`;

const select = (condition: string, withLiquidity = false): string => `
  ${withLiquidity ? USD_TOKEN : ""}
  ${SELECT_MOMENT},
    pair.base || '/' || pair.quote as key,
    pair.base,
    pair.quote,
    pair.base_gem as "baseGem",
    pair.quote_gem as "quoteGem",
    base_token.name as "baseName",
    quote_token.name as "quoteName",
    pair.base_precision as "basePrecision",
    pair.quote_precision as "quotePrecision",
    pair.active,
    ${["last", "percent", "low", "high", "bid", "ask", "vol"].map((name) => figureOrNull(`summary.${name}`, name)).join(", ")},
    ${figureOrNull("summary.quote_vol", "quoteVol")},
    ${figureOrNull(withLiquidity ? LIQUIDITY_IN_USD : "null::numeric", "liquidityInUsd")}
  from dex_private.as_of
  left join (
    dex_pair as pair
    join dex_summary as summary on summary.base = pair.base and summary.quote = pair.quote
    join dex_token as base_token on base_token.address = pair.base_gem
    join dex_token as quote_token on quote_token.address = pair.quote_gem
    ${withLiquidity ? LIQUIDITY : ""}
  ) on ${condition}
  order by (pair.base || '/' || pair.quote) collate "C"`;

/** All of them, in the order of BASE/QUOTE by code point. */
export const findListedMarkets = (db: Database): Promise<Snapshot<ListedMarket>> =>
  readSnapshot(db, { name: "rest_listed_markets", text: select("true") });

/** All of them; `usdTokens` are symbols in upper case, and addresses in lower case. */
export const findValuedMarkets = (
  db: Database,
  usdTokens: readonly string[],
): Promise<Snapshot<ListedMarket>> =>
  usdTokens.length === 0
    ? findListedMarkets(db)
    : readSnapshot(db, {
        name: "rest_valued_markets",
        text: select("true", true),
        values: [usdTokens],
      });

export const findListedMarket = (db: Database, pair: PairName): Promise<Snapshot<ListedMarket>> =>
  readSnapshot(db, {
    name: statementFor("rest_listed_market", pair),
    text: select(pairIsNamed(pair)),
    values: [pair.base, pair.quote],
  });
