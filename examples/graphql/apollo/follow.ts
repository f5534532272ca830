// Follows the trades of a market with Apollo Client, and prints each event as a line of JSON. Whenever the
// connection is lost, it goes on after its last event: no trade is missing, and none comes twice.
//
//   node apollo/follow.ts [market]
import { ApolloClient, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient } from "graphql-ws";
import { setTimeout as sleep } from "node:timers/promises";
import { NewTradesDocument, type NewTradesSubscription } from "./trades.generated.ts";

const RETRY_MS = 1000;

const [market = "WETH/DAI"] = process.argv.slice(2);
const url = process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql";

const client = new ApolloClient({
  link: new GraphQLWsLink(
    // graphql-ws would subscribe again with the cursor that it was given first.
    createClient({ url: url.replace(/^http/, "ws"), retryAttempts: 0 }),
  ),
  cache: new InMemoryCache(),
});

/** The place in the data after the last event. */
let after: string | undefined;

function take({ dexTrades }: NewTradesSubscription): void {
  const { cursor, reset, retractedTo, nodes } = dexTrades;
  // What a client has is void after a reset; so are the trades above the last one that stands.
  console.log(JSON.stringify({ reset, lastThatStands: retractedTo?.trade, trades: nodes }));
  after = cursor;
}

/** Resolves when the subscription has ended, for whatever reason. */
const follow = (): Promise<void> =>
  new Promise((resolve) => {
    const subscription = client
      // The cache would keep each trade for ever.
      .subscribe({
        query: NewTradesDocument,
        variables: { market, after },
        fetchPolicy: "no-cache",
      })
      .subscribe({
        next({ data, error }) {
          if (data && !error) return take(data);
          // An event with errors is the last one, and may lack something.
          console.error(error);
          subscription.unsubscribe();
          resolve();
        },
        error: resolve,
        complete: resolve,
      });
  });

for (;;) {
  await follow();
  await sleep(RETRY_MS);
}
