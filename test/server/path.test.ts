// How many files of the service a request passes, by V8's count of calls between two requests.
import { executedFiles } from "../executed-files.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    await write(writer, { trades: [aTrade()] });
    // With the limits of a service.
  },
  {
    rateLimit: 6000,
    requestsPerClient: 200,
    inFlight: { perClient: 8, waiting: 200, waitMs: 5000 },
  },
);

const PAGE = `query ($first: Int) {
  allDexTrades(first: $first, orderBy: BLOCK_DESC, condition: { market: "WETHDAI" }) {
    totalCount
    nodes { offerId price block }
  }
}`;

async function read(path: string, init: RequestInit = {}): Promise<void> {
  const answer = await fetch(app.url + path, init);
  expect([answer.status, await answer.text()]).toEqual([
    200,
    expect.not.stringContaining("errors"),
  ]);
}

const trades = (limit: number) => read(`/v2/trades/weth/dai?limit=${limit}`);
const page = (first: number) =>
  read("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: PAGE, variables: { first } }),
  });

it.each([
  ["a cache miss of REST", trades, 15],
  ["a page of GraphQL with its total", page, 30],
])("are at most so many for %s", async (_what, ask, most) => {
  await ask(10);
  await ask(11);
  // What runs beside a request, as a part that is still starting, is not beside each.
  const each: Set<string>[] = [];
  for (let size = 12; size < 20; size += 1)
    each.push(new Set(await executedFiles(() => ask(size))));
  const files = [...each.reduce((all, more) => all.intersection(more))];
  // All of them are shown where they are too many.
  expect(files.length > most ? files : []).toEqual([]);
});
