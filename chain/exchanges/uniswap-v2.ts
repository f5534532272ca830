// Reads the events of Uniswap v2 pairs and of the factory that makes them, and of those that have their events.
import { getAddress, parseAbi, toEventSelector, toFunctionSelector } from "viem";
import {
  IncompleteLogs,
  type ChainLog,
  type ContractCall,
  type Decoder,
  type ReadFact,
} from "../facts.ts";
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

/** An amount of each of the two tokens. */
type Both = readonly [bigint, bigint];

export const uniswapV2: Decoder = {
  kind: "uniswap-v2",
  topics: [...EVENTS.map((event) => toEventSelector(event)), createdTopic],
  marketTopics: [],
  idsAreConsecutive: false,
  hasOffers: false,
  takerIs: "sender",
  discover(log) {
    if (log.topics[0] !== createdTopic) return undefined;
    const { token0, token1, pair, count } = readEvent(log, createdAbi, "Uniswap v2").args;
    return {
      ...{ address: pair.toLowerCase(), number: Number(count) },
      answers: { "token0()": token0, "token1()": token1 },
    };
  },
  async setUp(ask) {
    const tokens = [await ask(tokenCall("token0()")), await ask(tokenCall("token1()"))] as const;
    return { ...uniswapV2, decode: (logs) => tradesOf(logs, tokens) };
  },
  decode() {
    throw new Error("the tokens of the pair are not known");
  },
};

/** A function of the pair that returns an address. */
const tokenCall = (name: string): ContractCall<string> => ({
  name,
  data: toFunctionSelector(`function ${name}`),
  read: (result) =>
    /^0x0{24}[0-9a-fA-F]{40}$/.test(result) ? getAddress(`0x${result.slice(26)}`) : undefined,
});

/**
 * Each Swap, Mint and Burn has its Sync right before it, in its transaction. By a Swap and a Mint the reserves change by what
 * they say, so that a missing log is noticed where both reserves are known.
 */
function tradesOf(logs: readonly ChainLog[], tokens: readonly [string, string]): ReadFact[] {
  const facts: ReadFact[] = [];
  let before: Both | undefined;
  let reserves: Both | undefined;
  /** The last Sync, until what it is of. */
  let sync: ChainLog | undefined;
  for (const log of logs) {
    const event = readEvent(log, abi, "Uniswap v2");
    if (event.eventName === "Sync") {
      before = reserves;
      reserves = [event.args.reserve0, event.args.reserve1];
      sync = log;
      continue;
    }
    if (reserves === undefined || sync?.tx !== log.tx) throw missing(log, event.eventName);
    sync = undefined;
    if (event.eventName === "Burn") continue;
    const { args } = event;
    const gets: Both =
      "amount0In" in args ? [args.amount0In, args.amount1In] : [args.amount0, args.amount1];
    const gives: Both = "amount0In" in args ? [args.amount0Out, args.amount1Out] : [0n, 0n];
    if (before !== undefined && !isChange(before, reserves, gets, gives)) {
      throw missing(log, event.eventName);
    }
    if (!("to" in args)) continue;
    const moved: Both = [gets[0] - gives[0], gets[1] - gives[1]];
    if (moved[0] * moved[1] >= 0n) continue;
    const bid = moved[0] > 0n ? 0 : 1;
    const lot = 1 - bid;
    const { block, hash, time, tx, idx } = log;
    facts.push({
      ...{ kind: "trade", offerId: null, block, hash, time, tx, idx },
      ...{ maker: getAddress(log.address), taker: args.to },
      ...{ lotGem: tokens[lot] ?? "", lotAmt: -(moved[lot] ?? 0n) },
      ...{ bidGem: tokens[bid], bidAmt: moved[bid] },
    });
  }
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
