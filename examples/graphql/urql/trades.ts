// Walks through all trades with urql, a page at a time, and prints each as a line of JSON.
//
//   node urql/trades.ts [order…]
//
// Graphcache's `relayPagination` joins the pages: a query for one of them is answered with all that
// the cache has of that list.
import { Client, fetchExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { neverBack } from "../../never-back.ts";
import { TradesDocument, type DexTradesOrderBy } from "./trades.generated.ts";

const PAGE = 1000;

const orders = process.argv.slice(2);
const orderBy = (orders.length > 0 ? orders : ["BLOCK_DESC"]) as DexTradesOrderBy[];

const client = new Client({
  url: process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql",
  // Behind a balancer, no page is of an older block than one before it.
  fetch: neverBack(),
  // The service takes POST alone.
  preferGetMethod: false,
  exchanges: [
    cacheExchange({
      // `id` is the exchange's; `nodeId` names a record among those of every type.
      keys: { DexTrade: ({ nodeId }) => (typeof nodeId === "string" ? nodeId : null) },
      resolvers: { Query: { allDexTrades: relayPagination() } },
    }),
    fetchExchange,
  ],
});

let after: string | null | undefined;
let pages = 0;
for (;;) {
  const { data, error } = await client
    .query(TradesDocument, { first: PAGE, after: after ?? null, orderBy })
    .toPromise();
  if (error) throw error;
  const list = data?.allDexTrades;
  pages += 1;
  if (list?.pageInfo.hasNextPage) {
    after = list.pageInfo.endCursor;
    continue;
  }
  for (const edge of list?.edges ?? []) {
    // Amounts and prices are strings, exact to their last digit: JSON keeps them so.
    console.log(JSON.stringify(edge?.node));
  }
  console.error(`${list?.edges.length} trades in ${pages} pages`);
  break;
}
