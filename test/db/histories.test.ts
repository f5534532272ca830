// Random histories: the views against a computation the long way, in every digit. `npm run prove`
// plays 100,000 of them.
import fc from "fast-check";
import { connect, type Client } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { history, playAndCompare } from "../histories.ts";

/** As many as a test run has the time for. */
const HISTORIES = 300;

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await makeDatabase();
  client = await connect(database.url, { role: "dex_owner" });
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

it(`the views tell of ${HISTORIES} histories what their trades and offers tell`, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      compared += await playAndCompare(client, steps);
    }),
    { numRuns: HISTORIES },
  );
  expect(compared).toBeGreaterThanOrEqual(HISTORIES);
}, 300_000);
