// Random histories, beside clients that follow the event stream and come back as they like: each client's own copy
// equals the tables at every head that it was told. `npm run prove:live` plays more of them.
import type { Client } from "../../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { connectWriter, newTally, playAlone, playFor } from "../../followers.ts";
import { eventStreams } from "../../stream-follower.ts";
import { LIMITS_OF_HISTORIES, startStreams } from "../../stream-service.ts";

const SECONDS = 8;

let database: TestDatabase;
let writer: Client;
beforeAll(async () => {
  database = await makeDatabase();
  writer = await connectWriter(database.url);
});
afterAll(async () => {
  await writer.end();
  await database.drop();
});

it(`a client's copy is exact in the random histories of ${SECONDS} seconds`, async () => {
  const tally = newTally();
  const make = () => startStreams(database.reader, LIMITS_OF_HISTORIES);
  await playFor(SECONDS, async (history) => {
    await database.empty();
    await playAlone({ protocol: eventStreams, writer, makers: [make, make], tally }, history);
  });
  expect(tally.compared).toBeGreaterThan(0);
  if (process.env["SHOW_TALLY"]) console.log(tally);
});
