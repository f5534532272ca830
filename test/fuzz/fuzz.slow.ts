// Inputs at random, a few of those that `npm run prove -- inputs` gives: no fault, no hang, no insides.
import { anOffer, aTrade, registerMarkets, write } from "../factories.ts";
import { useDatabase } from "../served.ts";
import { fuzz } from "./run.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    offers: [anOffer({ id: 1 })],
    trades: Array.from({ length: 50 }, () => aTrade()),
    head: 2,
  });
});

it("takes 1,000 inputs of all kinds", async () => {
  const all = await fuzz(database, { inputs: 1000, seed: 1 });
  for (const { outcomes } of all) expect(outcomes.size).toBeGreaterThan(1);
});
