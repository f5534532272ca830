// Inputs at random, a few of those that `npm run fuzz` gives: no fault, no hang, no insides.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { anOffer, aTrade, registerMarkets, write } from "../factories.ts";
import { fuzz } from "./run.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  await write(database.writer, {
    offers: [anOffer({ id: 1 })],
    trades: Array.from({ length: 50 }, () => aTrade()),
    head: 2,
  });
});
afterAll(() => database.drop());

it("takes 1,000 inputs of all kinds", async () => {
  const all = await fuzz(database, { inputs: 1000, seed: 1 });
  for (const { outcomes } of all) expect(outcomes.size).toBeGreaterThan(1);
});
