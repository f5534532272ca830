// Walks through all trades with Apollo Client, a page at a time, and prints each as a line of JSON.
//
//   node apollo/trades.ts [forwards|backwards] [order…]
//
// `relayStylePagination` joins the pages in the cache: the list of one order is one field, which
// grows at its end by `first` and `after`, or at its front by `last` and `before`.
import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";
import { neverBack } from "../../never-back.ts";
import { TradesDocument, type DexTradesOrderBy } from "./trades.generated.ts";

const PAGE = 1000;

const [direction = "forwards", ...orders] = process.argv.slice(2);
const orderBy = (orders.length > 0 ? orders : ["BLOCK_DESC"]) as DexTradesOrderBy[];

const client = new ApolloClient({
  link: new HttpLink({
    uri: process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql",
    // Behind a balancer, no page is of an older block than one before it.
    fetch: neverBack(),
  }),
  cache: new InMemoryCache({
    typePolicies: {
      Query: {
        fields: {
          // A list for each order and each set of trades that was asked for.
          allDexTrades: relayStylePagination(["orderBy", "condition", "filter"]),
        },
      },
      // `id` is the exchange's; `nodeId` names a record among those of every type.
      DexTrade: { keyFields: ["nodeId"] },
    },
  }),
});

const first = {
  query: TradesDocument,
  variables: direction === "backwards" ? { last: PAGE, orderBy } : { first: PAGE, orderBy },
};
await client.query(first);

// A component would have it of useQuery, which shows the list anew whenever it has grown.
const trades = client.watchQuery(first);
let pages = 1;
let list = client.readQuery(first)?.allDexTrades;
while (list) {
  const { startCursor, hasPreviousPage, endCursor, hasNextPage } = list.pageInfo;
  if (direction === "backwards" ? !hasPreviousPage : !hasNextPage) break;
  await trades.fetchMore({
    variables: direction === "backwards" ? { before: startCursor } : { after: endCursor },
  });
  list = client.readQuery(first)?.allDexTrades;
  pages += 1;
}

const edges = list?.edges ?? [];
for (const edge of edges) {
  // Amounts and prices are strings, exact to their last digit: JSON keeps them so.
  console.log(JSON.stringify(edge?.node));
}
console.error(`${edges.length} trades in ${pages} pages`);
