// GET /v2/registrations: what is registered, in an order that depends on the addresses alone.
import { registerPair, registerTokens } from "../factories.ts";
import { serveDatabase } from "../served.ts";

/** Capitals are before small letters in some locales: in those 0xB… would be before 0xa…. */
const [FIRST, SECOND, QUOTE] = [
  "0xa1a1a1A1A1A1A1A1A1a1A1A1A1a1A1A1a1a1A1a1",
  "0xB1b1B1B1B1B1B1b1B1B1b1B1B1b1b1b1B1B1B1B1",
  "0xC1c1c1C1C1c1c1c1C1c1C1C1c1c1C1C1c1c1c1C1",
].map((address) => address) as [string, string, string];

const { app } = serveDatabase(async (writer) => {
  await registerTokens(
    writer,
    ...[FIRST, SECOND, QUOTE].map((address, n) => ({ address, symbol: `T${n}`, decimals: 18 })),
  );
  await registerPair(writer, SECOND, QUOTE);
  await registerPair(writer, FIRST, QUOTE);
});

it("has tokens and pairs in the order of their addresses, whatever the locale of the database", async () => {
  const { body } = await app.request.get("/v2/registrations").expect(200);
  const inOrder = [FIRST, SECOND, QUOTE].map((address) => address.toLowerCase());
  expect(body.data.tokens.map(({ address }: { address: string }) => address)).toEqual(inOrder);
  expect(body.data.pairs.map(({ baseGem }: { baseGem: string }) => baseGem)).toEqual(
    inOrder.slice(0, 2),
  );
});
