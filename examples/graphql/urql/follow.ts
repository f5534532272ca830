// Follows the trades of a market with urql, and prints each event as a line of JSON. Whenever the connection
// is lost, it goes on after its last event: no trade is missing, and none comes twice.
//
//   node urql/follow.ts [market]
import { Client, subscriptionExchange, type OperationResult } from "@urql/core";
import { createClient } from "graphql-ws";
import { setTimeout as sleep } from "node:timers/promises";
import { toAsyncIterable } from "wonka";
import { NewTradesDocument, type NewTradesSubscription } from "./trades.generated.ts";

const RETRY_MS = 1000;

const [market = "WETH/DAI"] = process.argv.slice(2);
const url = process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql";

// graphql-ws would subscribe again with the cursor that it was given first.
const socket = createClient({ url: url.replace(/^http/, "ws"), retryAttempts: 0 });

const client = new Client({
  url,
  preferGetMethod: false,
  exchanges: [
    subscriptionExchange({
      forwardSubscription: ({ query = "", variables }) => ({
        subscribe: (sink) => ({
          unsubscribe: socket.subscribe({ query, variables: { ...variables } }, sink),
        }),
      }),
    }),
  ],
});

/** The place in the data after the last event. */
let after: string | null = null;

for (;;) {
  const events: AsyncIterable<OperationResult<NewTradesSubscription>> = toAsyncIterable(
    client.subscription(NewTradesDocument, { market, after }),
  );
  for await (const { data, error } of events) {
    if (error || !data) {
      // An event with errors is the last one, and may lack something.
      console.error(error);
      break;
    }
    const { cursor, reset, retractedTo, nodes } = data.dexTrades;
    // What a client has is void after a reset; so are the trades above the last one that stands.
    console.log(JSON.stringify({ reset, lastThatStands: retractedTo?.trade, trades: nodes }));
    after = cursor;
  }
  await sleep(RETRY_MS);
}
