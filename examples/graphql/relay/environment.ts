// Where Relay asks, and by what it distinguishes records.
import { Environment, Network, RecordSource, Store, type GraphQLResponse } from "relay-runtime";

const URL = process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql";

export function makeEnvironment(): Environment {
  return new Environment({
    network: Network.create(async ({ text: query }, variables) => {
      const response = await fetch(URL, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, variables }),
      });
      return (await response.json()) as GraphQLResponse;
    }),
    store: new Store(new RecordSource()),
    // Relay would take `id`, which here is the exchange's: a trade 7 and an offer 7 were one record.
    getDataID: ({ nodeId }: Record<string, unknown>) => nodeId,
  });
}
