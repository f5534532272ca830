// The measured requests.
import type { Client } from "../db/connect.ts";
import { BUSIEST } from "./data/constant-exchange.ts";
import type { BenchRequest } from "./load/wire-request.ts";

export interface Case {
  name: string;
  request: BenchRequest;
}

export interface GraphqlCase {
  name: string;
  operation: string;
  orderBy: string;
  query: string;
  variables: Record<string, unknown>;
  /** Variables that give the same rows by id. */
  variablesById?: Record<string, unknown>;
  /** The page begins after this number of trades. */
  cursorAfter?: number;
}

const PAIR = `${BUSIEST.base}/${BUSIEST.quote}`.toLowerCase();

const get = (path: string): Case => ({ name: path, request: { method: "GET", path } });

export const post = (body: object): BenchRequest => ({
  method: "POST",
  path: "/graphql",
  body: JSON.stringify(body),
});

/** The REST cases that are compared with other servers. */
export const restCases = (trades: number): Case[] =>
  [
    "/v1/markets/",
    `/v1/prices/${PAIR}`,
    "/v2/volumes",
    `/v2/trades/${PAIR}`,
    `/v2/trades/${PAIR}?fromId=${Math.floor(trades / 100)}`,
  ].map(get);

/** All REST endpoints, which are compared between a long and a short history. */
export const everyEndpoint = (): Case[] =>
  [
    ...["/v1/markets/", `/v1/markets/${PAIR}`, "/v1/pairs/", `/v1/pairs/${PAIR}`],
    ...["/v1/prices/", `/v1/prices/${PAIR}`, "/v2/volumes", `/v2/volumes/${PAIR}`],
    ...["/v2/summary", `/v2/summary/${PAIR}`, `/v2/book/${PAIR}`],
    ...[`/v2/candles/${PAIR}?interval=1h&limit=100`, `/v2/trades/${PAIR}`],
  ].map(get);

/** Values of this database that the GraphQL cases use. */
export interface Facts {
  /** The taker with the most trades in the busiest market. */
  taker: string;
  /** The maker with the most trades in the busiest market. */
  maker: string;
  wethGem: string;
  daiGem: string;
  /** Start and end of the last day. */
  since: string;
  until: string;
  /** The last trade before that day. */
  beforeId: string;
  /** Number of trades in the busiest market. */
  busiest: number;
}

export async function readFacts(client: Client): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `select
      pair.base_gem as "wethGem",
      pair.quote_gem as "daiGem",
      to_json(head.time - interval '1 day') #>> '{}' as since,
      to_json(head.time) #>> '{}' as until,
      coalesce(
        (
          select trade.id::text
          from dex_trade as trade
          where trade.time <= head.time - interval '1 day'
          order by trade.id desc
          limit 1
        ),
        '0'
      ) as "beforeId",
      trades.*
    from dex_pair as pair
    cross join dex_head as head
    cross join lateral (
      select
        count(*)::integer as busiest,
        mode() within group (order by taker) as taker,
        mode() within group (order by maker) as maker
      from dex_trade
      where market = pair.market
    ) as trades
    where pair.market = $1`,
    [BUSIEST.market],
  );
  const [facts] = rows;
  if (facts === undefined) throw new Error("the busiest market is missing");
  return facts;
}

const FIELDS =
  "offerId market act pair maker taker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price block time tx";
const PAGE = 100;

/** Pages of 100 trades, newest first, with every field of a trade in the interface. */
export function graphqlCases(facts: Facts): GraphqlCase[] {
  const { taker, wethGem, daiGem, since, until, beforeId } = facts;
  const market = BUSIEST.market;
  const deep = Math.min(10_000, Math.floor(facts.busiest / PAGE));
  const deepName = `by market, page ${deep.toLocaleString("en")} by cursor`;
  const byMarket = "condition: {market: $market}";
  const or = [
    { lotGem: { equalTo: wethGem }, bidGem: { equalTo: daiGem } },
    { lotGem: { equalTo: daiGem }, bidGem: { equalTo: wethGem } },
  ];
  const time = { greaterThan: since, lessThanOrEqualTo: until };
  const afterCursor = ["$market: String!, $after: Cursor!", `${byMarket}, after: $after`] as const;
  return [
    page("Page", "by market", "$market: String!", byMarket, { market }),
    page("PageAndTotal", `by market${WITH_TOTAL}`, "$market: String!", byMarket, { market }, true),
    page(
      "MarketAndTaker",
      "by market and taker",
      "$market: String!, $taker: String!",
      "condition: {market: $market, taker: $taker}",
      { market, taker },
    ),
    {
      ...page("CursorPage2", "by market, page 2 by cursor", ...afterCursor, { market }),
      cursorAfter: PAGE,
    },
    {
      ...page("CursorPageDeep", deepName, ...afterCursor, { market }),
      cursorAfter: (deep - 1) * PAGE,
    },
    {
      ...page(
        "EitherWay",
        "both tokens either way, a day",
        "$filter: DexTradeFilter!",
        "filter: $filter",
        { filter: { or, time } },
      ),
      variablesById: { filter: { or, id: { greaterThan: beforeId } } },
    },
  ];
}

function page(
  operation: string,
  name: string,
  declared: string,
  chosen: string,
  variables: Record<string, unknown>,
  counted = false,
): GraphqlCase {
  const orderBy = "BLOCK_DESC";
  const query = `query ${operation}(${declared}) {
    allDexTrades(first: ${PAGE}, orderBy: ${orderBy}, ${chosen}) {
      ${counted ? "totalCount " : ""}nodes { ${FIELDS} }
    }
  }`;
  return { name: `GraphQL ${name}`, operation, orderBy, query, variables };
}

const BY_ID = "PRIMARY_KEY_DESC";

/**
 * The same rows in the same order. Only the service knows that ids grow with blocks and times: for these the SQL of
 * plain PostGraphile reads a whole market, because no index has them.
 */
export const byId = ({ orderBy, query, variablesById, ...page }: GraphqlCase): GraphqlCase => ({
  ...page,
  orderBy: BY_ID,
  query: query.replace(orderBy, BY_ID),
  variables: variablesById ?? page.variables,
});

/** Suffix of the names of pages with their total. */
export const WITH_TOTAL = ", with totalCount";

/**
 * Pages by the most frequent conditions, newest first, each without and with its total. Only the service is
 * measured, because another server would read the whole history for some of them.
 */
export function totalCases(facts: Facts): Case[] {
  const { maker, taker, wethGem, daiGem, since, until } = facts;
  const market = BUSIEST.market;
  const eitherWay = `or: [
    {lotGem: {equalTo: "${wethGem}"}, bidGem: {equalTo: "${daiGem}"}}
    {lotGem: {equalTo: "${daiGem}"}, bidGem: {equalTo: "${wethGem}"}}
  ]`;
  const day = `time: {greaterThan: "${since}", lessThanOrEqualTo: "${until}"}`;
  return [
    ["of all trades", "orderBy: BLOCK_DESC"],
    ["by taker", `orderBy: BLOCK_DESC, condition: {taker: "${taker}"}`],
    ["by maker", `orderBy: BLOCK_DESC, condition: {maker: "${maker}"}`],
    [
      "by market and taker",
      `orderBy: BLOCK_DESC, condition: {market: "${market}", taker: "${taker}"}`,
    ],
    ["of both tokens either way", `orderBy: BLOCK_DESC, filter: {${eitherWay}}`],
    ["of both tokens either way, a day", `orderBy: TIME_DESC, filter: {${day}, ${eitherWay}}`],
    ["by market, a day", `orderBy: TIME_DESC, condition: {market: "${market}"}, filter: {${day}}`],
  ].flatMap(([name = "", args = ""]) =>
    [false, true].map((counted) => {
      const fields = `${counted ? "totalCount " : ""}nodes { ${FIELDS} }`;
      const query = `{ allDexTrades(first: ${PAGE}, ${args}) { ${fields} } }`;
      return {
        name: `Page ${name}${counted ? WITH_TOTAL : ""}`,
        request: post({ query }),
      };
    }),
  );
}

/** The request of a case, optionally with a cursor. */
export const graphqlRequest = (one: GraphqlCase, after?: string): BenchRequest =>
  post({
    query: one.query,
    operationName: one.operation,
    variables: after === undefined ? one.variables : { ...one.variables, after },
  });

/** Requests the cursor of a trade of the busiest market, by its 1-based position, newest first. */
export const cursorRequest = (position: number, orderBy: string): BenchRequest =>
  post({
    query: `query Cursor($market: String!, $offset: Int!) {
      allDexTrades(first: 1, offset: $offset, orderBy: ${orderBy}, condition: {market: $market}) {
        edges { cursor }
      }
    }`,
    operationName: "Cursor",
    variables: { market: BUSIEST.market, offset: position - 1 },
  });
