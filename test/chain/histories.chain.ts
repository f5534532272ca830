// Random histories of a real chain: what the indexer writes equals a database that is indexed afresh. `npm run
// prove:chain` plays 1,000.
import fc from "fast-check";
import { history, Stage } from "./histories.ts";

const HISTORIES = 30;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.make();
});
afterAll(() => stage.close());

it(`writes the same in ${HISTORIES} random histories as from the final chain`, async () => {
  let [rows, answers] = [0, 0];
  await fc.assert(
    fc.asyncProperty(history, async (one) => {
      const played = await stage.play(one);
      rows += played.rows;
      answers += played.answers;
    }),
    // Shrinking plays each smaller history on the chain; the seed and path of a failure play it again.
    { numRuns: HISTORIES, endOnFailure: true },
  );
  expect(rows).toBeGreaterThan(0);
  // More than the lists, which are there without a market.
  expect(answers).toBeGreaterThan(7 * HISTORIES);
  // Ten times what they take alone.
}, 600_000);
