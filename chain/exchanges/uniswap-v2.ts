// Reads the events of Uniswap v2 pairs and of the factory that makes them, and of those that have their events.
import { parseAbi, toEventSelector, toFunctionSelector } from "viem";
import {
  IncompleteLogs,
  type Both,
  type ChainLog,
  type Decoder,
  type ReadFact,
  type ReservesFact,
} from "../exchange-facts.ts";
import { askTokens, presence, wordsOf, type Tokens } from "./contract-calls.ts";
import { tradeOf } from "./pool-trade.ts";
import { readEvent } from "./read-event.ts";

const EVENTS = [
  "event Sync(uint112 reserve0, uint112 reserve1)",
  "event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)",
  "event Mint(address indexed sender, uint256 amount0, uint256 amount1)",
  "event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to)",
] as const;

const abi = parseAbi(EVENTS);

const CREATED =
  "event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count)";
const createdAbi = parseAbi([CREATED]);
const createdTopic = toEventSelector(CREATED);

/** Of what comes in, 3 of 1,000 stay with an original pool and are not traded for; in millionths. */
const FEE = 3000;

interface Pool {
  tokens: Tokens;
  fee: number;
}

const topics = [...EVENTS.map((event) => toEventSelector(event)), createdTopic];

const poolsWith = (fee: number): Decoder => ({
  ...{ kind: "uniswap-v2", topics },
  marketTopics: [],
  idsAreConsecutive: false,
  hasOffers: false,
  takerIs: "sender",
  withFee: poolsWith,
  ...(fee !== FEE && { otherFee: fee }),
  recognisedBy: [presence("getReserves()"), presence("allPairsLength()")],
  poolState: {
    name: "reserves",
    calls: [
      {
        name: "getReserves()",
        data: toFunctionSelector("function getReserves()"),
        read: (result) => wordsOf(result, 3)?.slice(0, 2),
      },
    ],
  },
  discover: {
    topics: [createdTopic],
    made(log) {
      const { token0, token1, pair, count } = readEvent(log, createdAbi, "Uniswap v2").args;
      return {
        ...{ address: pair.toLowerCase(), number: Number(count) },
        answers: { "token0()": token0, "token1()": token1 },
      };
    },
  },
  async setUp(ask) {
    const tokens = await askTokens(ask);
    return { ...poolsWith(fee), decode: (logs) => factsOf(logs, { tokens, fee }) };
  },
  decode() {
    throw new Error("the tokens of the pair are not known");
  },
});

export const uniswapV2 = poolsWith(FEE);

/**
 * The trades, and what the pair has after each block. Each Swap, Mint and Burn has its Sync right before it, in its
 * transaction. By a Swap and a Mint the reserves change by what they say, so that a missing log is noticed where both
 * reserves are known.
 */
function factsOf(logs: readonly ChainLog[], pool: Pool): ReadFact[] {
  const facts: ReadFact[] = [];
  let before: Both | undefined;
  let reserves: Both | undefined;
  let canFollow: ReservesFact["canFollow"];
  let last: ChainLog | undefined;
  /** The last Sync, until what it is of. */
  let sync: ChainLog | undefined;
  const endBlock = (): void => {
    if (last === undefined || reserves === undefined) return;
    const { block, hash, time, tx, idx } = last;
    const [lotGem, bidGem] = pool.tokens;
    const [lotAmt, bidAmt] = reserves;
    facts.push({
      ...{ kind: "reserves", block, hash, time, tx, idx, fee: pool.fee },
      ...{ lotGem, lotAmt, bidGem, bidAmt, canFollow },
    });
    canFollow = undefined;
  };
  for (const log of logs) {
    if (last !== undefined && last.block !== log.block) endBlock();
    const event = readEvent(log, abi, "Uniswap v2");
    if (event.eventName === "Sync") {
      before = reserves;
      reserves = [event.args.reserve0, event.args.reserve1];
      sync = log;
      last = log;
      continue;
    }
    if (reserves === undefined || sync?.tx !== log.tx) throw missing(log, event.eventName);
    sync = undefined;
    if (event.eventName === "Burn") continue;
    const { args } = event;
    const gets: Both =
      "amount0In" in args ? [args.amount0In, args.amount1In] : [args.amount0, args.amount1];
    const gives: Both = "amount0In" in args ? [args.amount0Out, args.amount1Out] : [0n, 0n];
    const after = reserves;
    if (before !== undefined && !isChange(before, after, gets, gives)) {
      throw missing(log, event.eventName);
    }
    // The first Sync of these logs.
    if (before === undefined) canFollow = (known) => isChange(known, after, gets, gives);
    if (!("to" in args)) continue;
    const trade = tradeOf(log, pool.tokens, [gets[0] - gives[0], gets[1] - gives[1]]);
    if (trade !== undefined) facts.push({ ...trade, taker: args.to });
  }
  endBlock();
  return facts;
}

/** A token that lowers balances by itself takes part of the reserve, where the pool gets none of it. */
const isChange = (before: Both, after: Both, gets: Both, gives: Both): boolean =>
  ([0, 1] as const).every((n) => {
    const right = before[n] + gets[n] - gives[n];
    return gets[n] > 0n ? after[n] === right : after[n] <= right;
  });

const missing = ({ block, tx, address }: ChainLog, event: string): IncompleteLogs =>
  new IncompleteLogs(
    `block ${block}, transaction ${tx}: a log of ${address} before its ${event} is missing`,
  );
