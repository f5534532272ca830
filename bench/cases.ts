// The measured requests, with the SQL of the REST requests.
import type { Client, Database } from "../db/connect.ts";
import { findBook } from "../rest/queries/book.ts";
import { findCandles } from "../rest/queries/candles.ts";
import { findMarket, findMarkets } from "../rest/queries/markets.ts";
import { findPair, findPairs } from "../rest/queries/pairs.ts";
import { findPrice, findPrices } from "../rest/queries/prices.ts";
import { findSummaries, findSummary } from "../rest/queries/summaries.ts";
import { findTrades } from "../rest/queries/trades.ts";
import { findVolume, findVolumes } from "../rest/queries/volumes.ts";
import { BUSIEST } from "./data/registry.ts";
import type { BoundStatement } from "./load/pgbench.ts";
import type { BenchRequest } from "./load/request.ts";

export interface Case {
  name: string;
  request: BenchRequest;
}

/** A REST case with its SQL statement. */
export interface RestCase extends Case {
  statement: BoundStatement;
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

const PAIR = { base: BUSIEST.base.toLowerCase(), quote: BUSIEST.quote.toLowerCase() };
const PAIR_PATH = `${PAIR.base}/${PAIR.quote}`;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** The REST cases that are compared with other servers. */
export async function restCases(trades: number): Promise<RestCase[]> {
  const deep = Math.floor(trades / 100);
  return [
    await restCase("/v1/markets/", (db) => findMarkets(db)),
    await restCase(`/v1/prices/${PAIR_PATH}`, (db) => findPrice(db, PAIR)),
    await restCase("/v2/volumes", (db) => findVolumes(db)),
    await restCase(`/v2/trades/${PAIR_PATH}`, (db) =>
      findTrades(db, PAIR, { limit: 100, fromId: NEWEST }),
    ),
    await restCase(`/v2/trades/${PAIR_PATH}?fromId=${deep}`, (db) =>
      findTrades(db, PAIR, { limit: 100, fromId: deep }),
    ),
  ];
}

/** All REST endpoints, which are compared between a long and a short history. */
export async function everyEndpoint(): Promise<RestCase[]> {
  return [
    await restCase("/v1/markets/", (db) => findMarkets(db)),
    await restCase(`/v1/markets/${PAIR_PATH}`, (db) => findMarket(db, PAIR)),
    await restCase("/v1/pairs/", (db) => findPairs(db)),
    await restCase(`/v1/pairs/${PAIR_PATH}`, (db) => findPair(db, PAIR)),
    await restCase("/v1/prices/", (db) => findPrices(db)),
    await restCase(`/v1/prices/${PAIR_PATH}`, (db) => findPrice(db, PAIR)),
    await restCase("/v2/volumes", (db) => findVolumes(db)),
    await restCase(`/v2/volumes/${PAIR_PATH}`, (db) => findVolume(db, PAIR)),
    await restCase("/v2/summary", (db) => findSummaries(db)),
    await restCase(`/v2/summary/${PAIR_PATH}`, (db) => findSummary(db, PAIR)),
    await restCase(`/v2/book/${PAIR_PATH}`, (db) => findBook(db, PAIR, { depth: 50 })),
    await restCase(`/v2/candles/${PAIR_PATH}`, (db) =>
      findCandles(db, PAIR, { interval: "1h", limit: 100, empty: "omit" }),
    ),
    await restCase(`/v2/trades/${PAIR_PATH}`, (db) =>
      findTrades(db, PAIR, { limit: 100, fromId: NEWEST }),
    ),
  ];
}

async function restCase(path: string, find: (db: Database) => Promise<unknown>): Promise<RestCase> {
  return { name: path, request: { method: "GET", path }, statement: await statementOf(find) };
}

/** Captures the statement that a query module sends. */
async function statementOf(find: (db: Database) => Promise<unknown>): Promise<BoundStatement> {
  let sent: BoundStatement | undefined;
  const listener = {
    query: ({ text, values }: Partial<BoundStatement> & { text: string }) => {
      sent = { text, values: values ?? [] };
      return Promise.resolve({ rows: [{ asOf: "", asOfBlock: 1, key: null }] });
    },
  };
  await find(listener as unknown as Database);
  if (sent === undefined) throw new Error("the query module sent no statement");
  return sent;
}

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
      (
        select trade.id::text
        from dex_trade as trade
        where trade.time <= head.time - interval '1 day'
        order by trade.id desc
        limit 1
      ) as "beforeId",
      (select count(*)::integer from dex_trade where market = pair.market) as busiest,
      (
        select trade.taker
        from dex_trade as trade
        where trade.market = pair.market
        group by trade.taker
        order by count(*) desc
        limit 1
      ) as taker,
      (
        select trade.maker
        from dex_trade as trade
        where trade.market = pair.market
        group by trade.maker
        order by count(*) desc
        limit 1
      ) as maker
    from dex_pair as pair
    cross join dex_head as head
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
      ...page(
        "CursorPageDeep",
        `by market, page ${deep.toLocaleString("en")} by cursor`,
        ...afterCursor,
        { market },
      ),
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
        request: { method: "POST", path: "/graphql", body: JSON.stringify({ query }) },
      };
    }),
  );
}

/** The request of a case, optionally with a cursor. */
export function graphqlRequest(one: GraphqlCase, after?: string): BenchRequest {
  return {
    method: "POST",
    path: "/graphql",
    body: JSON.stringify({
      query: one.query,
      operationName: one.operation,
      variables: after === undefined ? one.variables : { ...one.variables, after },
    }),
  };
}

/** Requests the cursor of a trade of the busiest market, by its 1-based position, newest first. */
export const cursorRequest = (position: number, orderBy: string): BenchRequest => ({
  method: "POST",
  path: "/graphql",
  body: JSON.stringify({
    query: `query Cursor($market: String!, $offset: Int!) {
      allDexTrades(first: 1, offset: $offset, orderBy: ${orderBy}, condition: {market: $market}) {
        edges { cursor }
      }
    }`,
    operationName: "Cursor",
    variables: { market: BUSIEST.market, offset: position - 1 },
  }),
});
