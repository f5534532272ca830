// A service on a hot standby: clients never go back to an older block, and /ready knows the lag.
import { setTimeout as sleep } from "node:timers/promises";
import { makePool, type Client, type Pool } from "../../db/connect.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { connectWriter } from "../followers.ts";
import { startReplicated, type Replicated } from "../standby.ts";

let servers: Replicated;
let writer: Client;
let primary: Pool;
let standby: Pool;
let onPrimary: TestApp;
let onStandby: TestApp;
beforeAll(async () => {
  servers = await startReplicated();
  writer = await connectWriter(servers.primary);
  primary = makePool(servers.primary, { role: "dex_reader", poolSize: 5 });
  standby = makePool(servers.standby, { role: "dex_reader", poolSize: 5 });
  const options = { maxReplicaLag: 1 };
  onPrimary = await makeTestApp(primary, options);
  // A lagging standby answers nothing in place of waiting.
  onStandby = await makeTestApp(standby, { ...options, minBlockWaitMs: 0 });
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1 })] });
  await servers.untilReplayed();
});
afterAll(async () => {
  await Promise.all([onPrimary.close(), onStandby.close()]);
  await Promise.all([writer.end(), primary.end(), standby.end()]);
  await servers.remove();
});

it("a client that hands back its block gets none before it from a standby that lags", async () => {
  const path = "/v2/trades/weth/dai";
  const resume = await servers.pauseReplay();
  await write(writer, { trades: [aTrade({ hour: 2 })] });
  const { headers } = await onPrimary.request.get(path).expect(200);
  const seen = headers["x-head-block"]!;
  expect(seen).toBe(String(blockAt(2)));

  const behind = await onStandby.request.get(path).set("x-min-block", seen).expect(503);
  expect(behind.headers["x-head-block"]).toBe(String(blockAt(1)));
  // A client that asks for no block gets the older answer, which says so.
  const older = await onStandby.request.get(path).expect(200);
  expect(older.headers["x-head-block"]).toBe(String(blockAt(1)));

  await resume();
  await servers.untilReplayed();
  const { body } = await onStandby.request.get(path).set("x-min-block", seen).expect(200);
  expect(body.data).toHaveLength(2);
});

it("/ready of a standby is 503 while its last transaction is older than MAX_REPLICA_LAG", async () => {
  const readiness = async (app: TestApp): Promise<[number, string[] | undefined]> => {
    const { status, body } = await app.request.get("/ready");
    return [status, body.reasons];
  };
  const resume = await servers.pauseReplay();
  while ((await readiness(onStandby))[0] === 200) await sleep(20);
  expect(await readiness(onStandby)).toEqual([
    503,
    [
      expect.stringMatching(
        /^The last transaction that the standby replayed is \d+ seconds old, and MAX_REPLICA_LAG is 1$/,
      ),
    ],
  ]);
  expect(await readiness(onPrimary)).toEqual([200, undefined]);
  await resume();
  let hour = 3;
  while ((await readiness(onStandby))[0] === 503) {
    await write(writer, { trades: [aTrade({ hour: (hour += 1) })] });
    await servers.untilReplayed();
  }
});
