// Random histories, beside subscribers that come back as they like: the copy of each equals the tables at every head
// that it was told. `npm run prove:live` plays more of them.
import type { Client } from "../../../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../../../database.ts";
import { connectWriter, LiveServices, newTally, playFor, playLive } from "../../../followers.ts";
import { startSubscriptions, subscriptions, untilIdle } from "../../../subscription-follower.ts";

const SECONDS = 10;

let database: TestDatabase;
let writer: Client;
let services: LiveServices;
beforeAll(async () => {
  database = await makeDatabase();
  writer = await connectWriter(database.url);
  const make = () => startSubscriptions(database.reader);
  services = await LiveServices.start([make, make]);
});
afterAll(async () => {
  await services.close();
  await writer.end();
  await database.drop();
});

it(`a subscriber's copy is exact in the random histories of ${SECONDS} seconds`, async () => {
  const tally = newTally();
  await playFor(SECONDS, async (history) => {
    await untilIdle(database.reader);
    await database.empty();
    await playLive({ protocol: subscriptions, writer, services, tally }, history);
  });
  expect(tally.compared).toBeGreaterThan(0);
  if (process.env["SHOW_TALLY"]) console.log(tally);
});
