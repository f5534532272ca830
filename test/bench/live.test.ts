// What followers of the benchmark get by WebSocket, and the page of them.
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { subscriptionTo } from "../../bench/live/measure-live.ts";
import { livePage } from "../../bench/live/live-report.ts";
import { channelOf, listenNotifyPreset, NOTIFY } from "../../bench/servers/listen-notify.ts";
import { makePlainPostgraphile } from "../../bench/servers/plain-postgraphile.ts";
import { makeTestApp } from "../app.ts";
import { makeDatabase } from "../database.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { connectTo, follow } from "../subscription-client.ts";

const QUERY = subscriptionTo("WETH/DAI");

test("Plain PostGraphile's subscribers get the same rows as the service's", async () => {
  await using stack = new AsyncDisposableStack();
  const database = await makeDatabase();
  stack.defer(() => database.drop());
  await registerMarkets(database.writer);
  const app = await makeTestApp(database.reader);
  stack.defer(() => app.close());
  const { server, release } = await makePlainPostgraphile(database.reader, listenNotifyPreset);
  stack.defer(release);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;

  const clients = [connectTo(app.url), connectTo(`http://127.0.0.1:${port}`)] as const;
  for (const client of clients) stack.defer(() => client.dispose());
  const [service, plain] = [follow(clients[0], QUERY), follow(clients[1], QUERY)];
  // The service begins with an event without trades.
  expect((await service.next()).nodes).toEqual([]);

  const [first, second] = [aTrade({ id: 1, hour: 1, idx: 0 }), aTrade({ id: 2, hour: 1, idx: 1 })];
  await write(database.writer, { trades: [first, second] });
  const given = plain.next();
  let event: Awaited<typeof given> | undefined;
  // A subscription is not acknowledged: one notification may be too early.
  while (event === undefined) {
    const values = [channelOf("WETH/DAI"), first.block, "WETHDAI"];
    await database.writer.query({ ...NOTIFY, values });
    event = (await Promise.race([given, sleep(50)])) ?? undefined;
  }
  const { nodes } = await service.next();
  expect(nodes.map(({ id }) => id)).toEqual(["1", "2"]);
  expect(event.nodes).toEqual(nodes);
});

test("A block without trades of the market notifies no subscriber", async () => {
  await using database = await makeDatabase();
  const { rowCount } = await database.writer.query({
    ...NOTIFY,
    values: [channelOf("WETH/DAI"), 1, "WETHDAI"],
  });
  expect(rowCount).toBe(0);
});

test("The page has a row for each contender, and says how many followed by WebSocket", () => {
  const measured = (latency: number, rate: number) => ({
    ...{ latencies: [latency, latency], rates: [rate] },
    ...{ memoryOfFollower: 2048, processorOfLine: 12.34 },
  });
  const run = {
    ...{ at: "2026-01-01T00:00:00.000Z", command: "npm run bench -- live" },
    machine: {
      ...{ processor: "A processor", cores: 2, memoryGigabytes: 16, system: "linux 6" },
      ...{ loadBefore: 0.1, node: "v24.0.0", postgresql: "18.4", packages: {} },
    },
  };
  const size = { followers: 10_000, webSocketFollowers: 1000, blocks: 20, rounds: 3 };

  const page = livePage(run, size, {
    ...{ service: measured(90, 70_000), bare: measured(80, 100_000) },
    ...{ serviceWebSocket: measured(400, 2_000), plainPostgraphile: measured(500, 1_000) },
    repeated: 1,
  }).join("\n");

  expect(page).toContain("1000 by `subscription { dexTrades }`");
  expect(page).toContain("| lines a second against bare node:http | 0.70 × | ≥ 0.70 × | reached |");
  expect(page).toContain("| WebSocket, median | 400 ms | ≤ 150 ms | **missed** |");
  expect(page).toContain(
    "| its messages a second against plain | 2.00 × | ≥ 20.00 × | **missed** |",
  );
  expect(page).toContain("| memory of a follower, WebSocket | 2.0 kB | ≤ 30.0 kB | reached |");
  expect(page).toContain("because a follower had lost its stream: 1.");
  expect(page.split("\n").filter((line) => line.includes("| 12.3 | 2.0 |"))).toEqual([
    "| this service, event stream | 90 | 90 | 70,000 | 12.3 | 2.0 |",
    "| bare node:http, event stream | 80 | 80 | 100,000 | 12.3 | 2.0 |",
    "| this service, WebSocket | 400 | 400 | 2,000 | 12.3 | 2.0 |",
    "| plain PostGraphile, WebSocket | 500 | 500 | 1,000 | 12.3 | 2.0 |",
  ]);
});
