// What the listing formats say of each market: dex_summary, with the pair and its tokens. A token by its address.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import {
  FROM_AS_OF,
  figureOrNull,
  NO_PAIR,
  pairIsNamed,
  readSnapshot,
  SELECT_MOMENT,
  statementFor,
  type PairName,
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

const select = (condition: string, withLiquidity = false): string => `
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
    dex_private.active_of(pair.id, pair.active) as active,
    ${["last", "percent", "low", "high", "bid", "ask", "vol"].map((name) => figureOrNull(`summary.${name}`, name)).join(", ")},
    ${figureOrNull("summary.quote_vol", "quoteVol")},
    ${figureOrNull(withLiquidity ? "valued.liquidity_in_usd" : "null::numeric", "liquidityInUsd")}
  ${FROM_AS_OF}
  left join (
    dex_pair as pair
    join dex_summary as summary on summary.base = pair.base and summary.quote = pair.quote
    join dex_token as base_token on base_token.address = pair.base_gem
    join dex_token as quote_token on quote_token.address = pair.quote_gem
    ${withLiquidity ? "join dex_liquidity($1) as valued on valued.base = pair.base and valued.quote = pair.quote" : ""}
  ) on ${condition}
  order by (pair.base || '/' || pair.quote) collate "C"`;

/** All of them, in the order of BASE/QUOTE by code point. */
export const findListedMarkets = (db: Database): Promise<Snapshot<ListedMarket>> =>
  readSnapshot(db, { name: "rest_listed_markets", text: select("true") });

/** All of them; `usdTokens` are symbols and addresses. */
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

/** An endpoint that reads all of them. */
export const everyListedMarket = {
  find: findListedMarkets,
  probe: (db: Database): Promise<unknown> => findListedMarket(db, NO_PAIR),
};

/** The key is the address. */
interface TokenRow extends KeyedRow {
  symbol: string | null;
  name: string | null;
}

/** In any letter case. */
export const findToken = (db: Database, address: string): Promise<Snapshot<TokenRow>> =>
  readSnapshot(db, {
    name: "rest_token",
    text: `
      ${SELECT_MOMENT},
        token.address as key,
        token.symbol,
        token.name
      ${FROM_AS_OF}
      left join dex_token as token on lower(token.address) = lower($1)`,
    values: [address],
  });
