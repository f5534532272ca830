// Random histories: as of each of their blocks, every digit of the views equals the computation of brute-force.ts.
// `npm run prove -- past` plays 10,000 histories.
import fc from "fast-check";
import { pastHistory, playAndComparePast } from "../past.ts";
import { useOwned } from "../served.ts";

/** Beside those below, whose views are compared as well. */
const HISTORIES = 90;

const { owner: client } = useOwned();

it(`the views match the computation as of each block of ${HISTORIES} random histories`, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(pastHistory(), async (history) => {
      compared += await playAndComparePast(client, history);
    }),
    { numRuns: HISTORIES },
  );
  expect(compared).toBeGreaterThanOrEqual(HISTORIES);
}, 300_000);

const WITH_GRAPHQL = 60;

it(`GraphQL answers as of each block of ${WITH_GRAPHQL} random histories as if that block were the head`, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(pastHistory(), async (history) => {
      compared += await playAndComparePast(client, history, { isWithGraphql: true });
    }),
    { numRuns: WITH_GRAPHQL },
  );
  expect(compared).toBeGreaterThanOrEqual(WITH_GRAPHQL);
}, 300_000);
