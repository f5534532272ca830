// Random histories: every digit of the views equals the computation of brute-force.ts. `npm run prove` plays
// 100,000 histories.
import fc from "fast-check";
import { connect, type Client } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { history, playAndCompare } from "../histories.ts";

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

it(`the views match the computation in ${HISTORIES} random histories`, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      compared += await playAndCompare(client, steps);
    }),
    { numRuns: HISTORIES },
  );
  expect(compared).toBeGreaterThanOrEqual(HISTORIES);
}, 300_000);
