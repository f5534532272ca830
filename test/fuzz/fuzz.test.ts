// Inputs at random, a few of those that `npm run fuzz` gives: no fault, no hang, no insides.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { insert, anOffer, aTrade, registerMarkets, setHead } from "../factories.ts";
import { fuzz } from "./run.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  await insert(database.writer, "dex_offer", [anOffer({ id: 1 })]);
  await insert(
    database.writer,
    "dex_trade",
    Array.from({ length: 50 }, () => aTrade()),
  );
  await setHead(database.writer, 2);
});
afterAll(() => database.drop());

it("takes 1,000 inputs of all kinds", async () => {
  const all = await fuzz(database, { inputs: 1000, seed: 1 });
  for (const { outcomes } of all) expect(outcomes.size).toBeGreaterThan(1);
});
