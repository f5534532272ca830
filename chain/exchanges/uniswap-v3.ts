// Reads the events of Uniswap v3 pools and of the factory that makes them, and of those that have their events.
import { parseAbi, toEventSelector, toFunctionSelector } from "viem";
import type {
  ChainLog,
  ContractCall,
  Decoder,
  RangesFact,
  ReadFact,
  TickLiquidity,
} from "../exchange-facts.ts";
import { Halt } from "../halt.ts";
import { askTokens, presence, withInteger, wordsOf, type Tokens } from "./contract-calls.ts";
import { tradeOf } from "./pool-trade.ts";
import { readEvent } from "./read-event.ts";

/** A pool's Collect and Flash change neither its price nor its liquidity, and are not asked for. */
const EVENTS = [
  "event Initialize(uint160 sqrtPriceX96, int24 tick)",
  "event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)",
  "event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)",
  "event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)",
] as const;
const abi = parseAbi(EVENTS);

const CREATED =
  "event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)";
const createdAbi = parseAbi([CREATED]);
const createdTopic = toEventSelector(CREATED);

interface Pool {
  tokens: Tokens;
  /** In millionths. */
  fee: number;
  tickSpacing: number;
}

export const uniswapV3: Decoder = {
  kind: "uniswap-v3",
  topics: [...EVENTS.map((event) => toEventSelector(event)), createdTopic],
  marketTopics: [],
  idsAreConsecutive: false,
  hasOffers: false,
  takerIs: "sender",
  recognisedBy: [
    presence("slot0()"),
    presence(
      "feeAmountTickSpacing(3000)",
      withInteger("function feeAmountTickSpacing(uint24)", 3000),
    ),
  ],
  poolState: {
    name: "square root of the price, tick and liquidity",
    calls: [
      {
        name: "slot0()",
        data: toFunctionSelector("function slot0()"),
        read: (result) => {
          const [sqrtPrice, tick] = wordsOf(result, 7) ?? [];
          if (sqrtPrice === undefined || tick === undefined) return undefined;
          return [sqrtPrice, BigInt.asIntN(24, tick)];
        },
      },
      {
        name: "liquidity()",
        data: toFunctionSelector("function liquidity()"),
        read: (result) => wordsOf(result, 1),
      },
    ],
    ticks: {
      at: (tick) => ({
        name: `ticks(${tick})`,
        data: withInteger("function ticks(int24)", tick),
        read: (result) => {
          const [gross, net] = wordsOf(result, 8) ?? [];
          if (gross === undefined || net === undefined) return undefined;
          return { gross, net: BigInt.asIntN(128, net) };
        },
      }),
      word: (n) => ({
        name: `tickBitmap(${n})`,
        data: withInteger("function tickBitmap(int16)", n),
        read: (result) => wordsOf(result, 1)?.[0],
      }),
    },
  },
  discover: {
    topics: [createdTopic],
    made(log) {
      const { token0, token1, fee, tickSpacing, pool } = readEvent(
        log,
        createdAbi,
        "Uniswap v3",
      ).args;
      return {
        // The factory does not count them.
        ...{ address: pool.toLowerCase(), number: null },
        answers: {
          "token0()": token0,
          "token1()": token1,
          "fee()": fee,
          "tickSpacing()": tickSpacing,
        },
      };
    },
  },
  async setUp(ask) {
    const tokens = await askTokens(ask);
    const fee = await ask(smallCall("fee()"));
    const pool = { tokens, fee, tickSpacing: await ask(smallCall("tickSpacing()")) };
    return { ...uniswapV3, decode: (logs) => factsOf(logs, pool) };
  },
  decode() {
    throw new Error("the tokens of the pool are not known");
  },
};

/** A function that returns a positive integer below 2^24. */
const smallCall = (name: string): ContractCall<number> => ({
  name,
  data: toFunctionSelector(`function ${name}`),
  read: (result) =>
    /^0x0{58}[0-9a-fA-F]{6}$/.test(result) && Number(result) > 0 ? Number(result) : undefined,
});

/**
 * The trades, and what the pool has after each block that changed it. A Mint and a Burn change the ticks that a range ends at, and
 * the liquidity where the price is in it; a Swap says both, and so its price is that of the block unless another one follows.
 */
function factsOf(logs: readonly ChainLog[], { tokens, fee, tickSpacing }: Pool): ReadFact[] {
  const facts: ReadFact[] = [];
  let last: ChainLog | undefined;
  let price: RangesFact["price"];
  let changes = new Map<number, TickLiquidity>();
  const endBlock = (): void => {
    if (last === undefined) return;
    const { block, hash, time, tx, idx } = last;
    const [lotGem, bidGem] = tokens;
    const changed = new Map(
      [...changes].filter(([, { net, gross }]) => net !== 0n || gross !== 0n),
    );
    // A Burn of nothing, and a range that is made and given back, change nothing.
    if (price !== undefined || changed.size > 0) {
      facts.push({
        ...{ kind: "ranges", block, hash, time, tx, idx, lotGem, bidGem, fee, tickSpacing },
        ...{ price, changes: changed },
      });
    }
    price = undefined;
    changes = new Map();
  };
  const add = (tick: number, change: TickLiquidity): void => {
    const { net, gross } = changes.get(tick) ?? { net: 0n, gross: 0n };
    changes.set(tick, { net: net + change.net, gross: gross + change.gross });
  };
  for (const log of logs) {
    if (last !== undefined && last.block !== log.block) endBlock();
    last = log;
    const { eventName, args } = readEvent(log, abi, "Uniswap v3");
    if ("sqrtPriceX96" in args) {
      const { sqrtPriceX96: sqrtPrice, tick } = args;
      if (!isAt(sqrtPrice, tick)) {
        throw new Halt(
          `The log ${log.idx} of block ${log.block} is a ${eventName} of ${log.address} with the tick ${tick}, which is not that of its price, ${sqrtPrice}`,
        );
      }
      price = { sqrtPrice, tick, liquidity: "liquidity" in args ? args.liquidity : 0n };
      if (!("recipient" in args)) continue;
      const trade = tradeOf(log, tokens, [args.amount0, args.amount1]);
      if (trade !== undefined) facts.push({ ...trade, taker: args.recipient });
    } else {
      const change = eventName === "Mint" ? args.amount : -args.amount;
      add(args.tickLower, { net: change, gross: change });
      add(args.tickUpper, { net: -change, gross: change });
      if (price !== undefined && args.tickLower <= price.tick && price.tick < args.tickUpper) {
        price = { ...price, liquidity: price.liquidity + change };
      }
    }
  }
  endBlock();
  return facts;
}

/**
 * Whether this is the square root of a price from that of the tick to that of the next one, where a price that falls to it has
 * the tick below. Logarithms are right to a hundred-thousandth of a tick here; what is kept is the event's own.
 */
function isAt(sqrtPrice: bigint, tick: number): boolean {
  const beyond = (2 * Math.log(Number(sqrtPrice) / 2 ** 96)) / Math.log(1.0001) - tick;
  return beyond > -1e-5 && beyond < 1 + 1e-5;
}
