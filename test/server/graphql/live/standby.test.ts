// Random histories, beside subscribers that go from a server to its hot standby and back.
import { makePool, type Client, type Pool } from "../../../../db/connect.ts";
import { emptyExchange } from "../../../database.ts";
import { connectWriter, LiveServices, newTally, playFor, playLive } from "../../../followers.ts";
import { startReplicated, type Replicated } from "../../../standby.ts";
import { startSubscriptions, subscriptions, untilIdle } from "../../../subscription-follower.ts";

const SECONDS = 6;

let servers: Replicated;
let writer: Client;
let readers: Pool[];
let services: LiveServices;
beforeAll(async () => {
  servers = await startReplicated();
  writer = await connectWriter(servers.primary);
  const poolOf = (url: string): Pool => makePool(url, { role: "dex_reader", poolSize: 5 });
  const [primary, standby] = [poolOf(servers.primary), poolOf(servers.standby)];
  readers = [primary, standby];
  services = await LiveServices.start([
    () => startSubscriptions(primary),
    () => startSubscriptions(standby),
  ]);
});
afterAll(async () => {
  await services.close();
  await Promise.all([writer.end(), ...readers.map((pool) => pool.end())]);
  await servers.remove();
});

it(`a subscriber's copy is exact in the random histories of ${SECONDS} seconds, on either server`, async () => {
  const tally = newTally();
  const { untilReplayed: untilSeen } = servers;
  await playFor(SECONDS, async (history) => {
    await Promise.all(readers.map(untilIdle));
    await emptyExchange(writer);
    await playLive({ protocol: subscriptions, writer, services, untilSeen, tally }, history);
  });
  expect(tally.compared).toBeGreaterThan(0);
  if (process.env["SHOW_TALLY"]) console.log(tally);
});
