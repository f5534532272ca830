// The volume of 24 hours in dollars: of a dollar in the market, through one other market, or none.
import {
  anAddress,
  aTrade,
  DAI,
  MKR,
  registerPair,
  registerTokens,
  WETH,
  write,
} from "../factories.ts";
import { serveDatabase } from "../served.ts";

const [USDC, UNI, BAT, ZRX, OLD] = ["USDC", "UNI", "BAT", "ZRX", "OLD"].map(anAddress) as [
  string,
  string,
  string,
  string,
  string,
];

const { app } = serveDatabase(async (writer) => {
  await registerTokens(
    writer,
    ...Object.entries({ WETH, DAI, MKR, USDC, UNI, BAT, ZRX, OLD }).map(([symbol, address]) => ({
      address,
      symbol,
    })),
  );
  for (const [base, quote] of [
    [WETH, DAI],
    [WETH, USDC],
    [DAI, USDC],
    [MKR, WETH],
    [DAI, UNI],
    [BAT, UNI],
    [ZRX, BAT],
    [WETH, OLD],
    [OLD, BAT],
  ] as const) {
    await registerPair(writer, base, quote);
  }
  const of = (hour: number, baseGem: string, quoteGem: string, base: string, quote: string) =>
    aTrade({ hour, baseGem, quoteGem, base, quote, offer_id: null });
  await write(writer, {
    trades: [
      // Not of the last 24 hours, but a last price.
      of(1, OLD, BAT, "1", "7"),
      of(30, WETH, DAI, "2", "6000.000000000000000001"),
      of(31, WETH, USDC, "1", "2900"),
      of(32, DAI, USDC, "10", "10.5"),
      of(33, MKR, WETH, "3", "1.5"),
      of(34, DAI, UNI, "9", "27"),
      of(35, BAT, UNI, "1", "0.1"),
      of(36, ZRX, BAT, "1", "5"),
      of(37, WETH, OLD, "0.3", "5"),
    ],
    head: 40,
  });
});

interface Valued {
  pair: string;
  volumeInUsd: string | null;
  through: string | null;
}

async function dollars(usdTokens: string[]): Promise<Record<string, (string | null)[]>> {
  const query = `{ dexUsdVolume(usdTokens: ${JSON.stringify(usdTokens)}) { nodes { pair volumeInUsd through } } }`;
  const { body } = await app.request.post("/graphql").send({ query }).expect(200);
  const nodes: Valued[] = body.data.dexUsdVolume.nodes;
  return Object.fromEntries(
    nodes.map(({ pair, volumeInUsd, through }) => [
      pair,
      [volumeInUsd === null ? null : trimmed(volumeInUsd), through],
    ]),
  );
}

const trimmed = (decimal: string): string =>
  decimal.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

it("is of the dollars that moved, else of a token at its last price in dollars, through one market", async () => {
  expect(await dollars(["dai", USDC])).toEqual({
    // Neither token has a market with a dollar.
    "ZRX/BAT": [null, null],
    // No trade in 24 hours.
    "OLD/BAT": [null, null],
    "WETH/DAI": ["6000.000000000000000001", null],
    "WETH/USDC": ["2900", null],
    // Both are dollars: the quote.
    "DAI/USDC": ["10.5", null],
    // 1.5 WETH at 6000.000000000000000001 ÷ 2 = 3000.0000000000000000005, which is kept as 3000.000000000000000001.
    "MKR/WETH": ["4500.000000000000000002", "WETH/DAI"],
    "DAI/UNI": ["9", null],
    // 0.1 UNI at 3 UNI a dollar.
    "BAT/UNI": ["0.033333333333333333", "DAI/UNI"],
    // The quote has no price in dollars, the base has: 0.3 × 3000.000000000000000001 = 900.0000000000000000003
    "WETH/OLD": ["900", "WETH/DAI"],
  });
});

it("takes the market with the greatest volume in dollars", async () => {
  // Without DAI, only USDC has a price of WETH. 1.5 × 2900; DAI is worth 1.05: 6000.000000000000000001 × 1.05 rounded.
  expect(await dollars(["USDC"])).toMatchObject({
    "MKR/WETH": ["4350", "WETH/USDC"],
    "WETH/DAI": ["6300.000000000000000001", "DAI/USDC"],
    // Two markets away.
    "BAT/UNI": [null, null],
  });
});

it("is nothing without a dollar", async () => {
  const found = await dollars([]);
  expect(Object.keys(found)).toHaveLength(9);
  expect(new Set(Object.values(found).map((one) => JSON.stringify(one)))).toEqual(
    new Set(["[null,null]"]),
  );
});
