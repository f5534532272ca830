// What is traded on the simulated exchange, and by whom.
import { pairHash } from "../load/checksum.ts";
import { powerOfTen } from "./amount.ts";
import { addressOf } from "./identity.ts";

export interface Token {
  address: string;
  symbol: string;
  decimals: number;
  name: string;
}

/**
 * How a market fares: `traded` all the time; `quiet` for the last two days of a history, its
 * open offers; `delisted` halfway through the first history, inactive since; `untouched` ever.
 */
export type Course = "traded" | "quiet" | "delisted" | "untouched";

export interface Market {
  base: Token;
  quote: Token;
  course: Course;
  /** The price around which it moves, quote per base, times 10^18. */
  centre: bigint;
  /** The most by which a trade moves the price, in millionths of it. */
  step: number;
  /** The middling offer, in smallest units of base. */
  size: bigint;
  /** How often it is traded, against the others. */
  weight: number;
  /** The pair hash of offers that sell base, and of those that buy it. */
  hashes: { sell: string; buy: string };
}

const token = (symbol: string, decimals: number, name: string): Token => ({
  address: addressOf(`token ${symbol}`),
  symbol,
  decimals,
  name,
});

const WETH = token("WETH", 18, "Wrapped Ether");
const DAI = token("DAI", 18, "Dai Stablecoin");
const USDC = token("USDC", 6, "USD Coin");
const USDT = token("USDT", 6, "Tether USD");
const WBTC = token("WBTC", 8, "Wrapped BTC");
const MKR = token("MKR", 18, "Maker");
const WSTETH = token("wstETH", 18, "Wrapped liquid staked Ether 2.0");
const LINK = token("LINK", 18, "ChainLink Token");
const UNI = token("UNI", 18, "Uniswap");
const PEPE = token("PEPE", 18, "Pepe");
const GNO = token("GNO", 18, "Gnosis Token");
const REP = token("REP", 18, "Reputation");
const BAT = token("BAT", 18, "Basic Attention Token");

export const TOKENS: readonly Token[] = [
  WETH,
  DAI,
  USDC,
  USDT,
  WBTC,
  MKR,
  WSTETH,
  LINK,
  UNI,
  PEPE,
  GNO,
  REP,
  BAT,
];

/** `price` in 10^-12 quote per base, `size` in thousandths of a base token. */
function market(
  base: Token,
  quote: Token,
  {
    price,
    size,
    step = 2500,
    weight = 2,
    course = "traded",
  }: { price: bigint; size: bigint; step?: number; weight?: number; course?: Course },
): Market {
  return {
    base,
    quote,
    course,
    centre: price * powerOfTen(6),
    step,
    size: (size * powerOfTen(base.decimals)) / 1000n,
    weight,
    hashes: {
      sell: pairHash(base.address, quote.address),
      buy: pairHash(quote.address, base.address),
    },
  };
}

const UNIT = powerOfTen(12);

/** In the order of their weights. Each price keeps within a fifth below and a quarter above. */
export const MARKETS: readonly Market[] = [
  market(WETH, DAI, { price: 2800n * UNIT, size: 1500n, weight: 5 }),
  market(WETH, USDC, { price: 2800n * UNIT, size: 2000n, weight: 4 }),
  market(WBTC, USDC, { price: 78_000n * UNIT, size: 80n, weight: 3 }),
  market(WBTC, WETH, { price: (27_857n * UNIT) / 1000n, size: 90n }),
  market(WBTC, DAI, { price: 78_000n * UNIT, size: 50n }),
  market(WSTETH, WETH, { price: (1190n * UNIT) / 1000n, size: 4000n, step: 300 }),
  market(DAI, USDC, { price: UNIT, size: 4_000_000n, step: 120 }),
  market(USDC, USDT, { price: UNIT, size: 5_000_000n, step: 100 }),
  market(MKR, DAI, { price: 1500n * UNIT, size: 2500n }),
  market(MKR, WETH, { price: (536n * UNIT) / 1000n, size: 1800n }),
  market(LINK, WETH, { price: (5_300n * UNIT) / 1_000_000n, size: 250_000n }),
  market(UNI, DAI, { price: (9_400n * UNIT) / 1000n, size: 180_000n, step: 3500 }),
  market(PEPE, WETH, { price: 1400n, size: 900_000_000_000n, step: 4000 }),
  market(GNO, WETH, { price: (71n * UNIT) / 1000n, size: 12_000n, course: "quiet" }),
  market(REP, DAI, { price: 12n * UNIT, size: 60_000n, course: "delisted" }),
  market(BAT, DAI, { price: (210n * UNIT) / 1000n, size: 1_000_000n, course: "untouched" }),
];

/** Those who make offers, and those who take them; a third of the makers are takers too. */
export const MAKERS: readonly string[] = Array.from({ length: 18 }, (_, n) =>
  addressOf(`trader ${n}`),
);
export const TAKERS: readonly string[] = Array.from({ length: 30 }, (_, n) =>
  addressOf(`trader ${n + 12}`),
);
