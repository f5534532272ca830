// Tempo's exchange, by a contract with its events and rules: random histories give the rows that its receipts have.
import { startChain, type TestChain } from "./chain.ts";
import { playKind, SHORT } from "./kind-histories.ts";
import { deployTempo } from "./random-tempo.ts";

let chain: TestChain;
beforeAll(async () => {
  chain = await startChain({ start: new Date("2026-03-01T11:00:00Z") });
});
afterAll(() => chain.stop());

it("has the trades and open orders of the contract, also after reorganisations and kills at any time", async () => {
  const tempo = await deployTempo(chain);
  const { trades, reorganisations, kills } = await playKind(chain, tempo, { seed: 11, ...SHORT });
  expect(trades).toBeGreaterThan(5);
  expect(reorganisations).toBeGreaterThan(1);
  expect(kills).toBeGreaterThan(1);
}, 600_000);
