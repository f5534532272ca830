// Random histories: every digit of the views equals the computation of brute-force.ts. `npm run prove -- figures` plays
// 100,000 histories.
import fc from "fast-check";
import { history, playAndCompare } from "../histories.ts";
import { useClient, useDatabase } from "../served.ts";

/** On another PostgreSQL fewer: the statements are the same. */
const HISTORIES = process.env["TEST_POSTGRES_BIN"] === undefined ? 300 : 100;

const database = useDatabase();
const stranger = useClient(database, "dex_writer");
const client = useClient(database, "dex_owner");

it(`the views match the computation in ${HISTORIES} random histories`, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      compared += await playAndCompare(client, stranger, steps);
    }),
    { numRuns: HISTORIES },
  );
  expect(compared).toBeGreaterThanOrEqual(HISTORIES);
}, 300_000);
