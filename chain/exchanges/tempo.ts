// Reads the events of Tempo's stablecoin exchange, a book with ticks: logs in, facts out.
import { parseAbi, toEventSelector, toFunctionSelector } from "viem";
import {
  IncompleteLogs,
  type ChainLog,
  type ContractState,
  type Decoder,
  type LeftOffer,
  type Pair,
  type ReadFact,
  type UpdatePart,
} from "../exchange-facts.ts";
import { Halt } from "../halt.ts";
import { withInteger, wordsOf } from "./contract-calls.ts";
import { readEvent } from "./read-event.ts";

const CREATED =
  "event PairCreated(bytes32 indexed key, address indexed base, address indexed quote)";
const EVENTS = [
  "event OrderPlaced(uint128 indexed orderId, address indexed maker, address indexed token, uint128 amount, bool isBid, int16 tick, bool isFlipOrder, int16 flipTick)",
  "event OrderFilled(uint128 indexed orderId, address indexed maker, address indexed taker, uint128 amountFilled, bool partialFill)",
  "event OrderFlipped(uint128 indexed orderId, address indexed maker, address indexed token, uint128 amount, bool isBid, int16 tick, int16 flipTick)",
  "event FlipFailed(uint128 indexed orderId, address indexed maker, bytes4 reason)",
  "event OrderCancelled(uint128 indexed orderId)",
] as const;
const createdAbi = parseAbi([CREATED]);
const abi = parseAbi(EVENTS);
const createdTopic = toEventSelector(CREATED);

type Gems = Pick<LeftOffer, "lotGem" | "bidGem">;

/** A price is so many quotes for this many bases. */
const SCALE = 100_000n;

export const tempo: Decoder = {
  kind: "tempo",
  topics: [...EVENTS.map((event) => toEventSelector(event)), createdTopic],
  marketTopics: [],
  idsAreConsecutive: true,
  reusesIds: true,
  discoversPairs: true,
  state: {
    lastOffer: {
      name: "nextOrderId()",
      data: toFunctionSelector("function nextOrderId()"),
      read: (result) => (result.length === 66 ? Number(BigInt(result)) - 1 : undefined),
    },
    offer: orderCall,
    revertsWhenOver: true,
  },
  discover: {
    topics: [createdTopic],
    made(log) {
      const { key, base, quote } = readEvent(log, createdAbi, "Tempo's exchange").args;
      // A pair has no contract: the last 20 bytes of its key stand for one.
      return {
        address: `0x${key.slice(26)}`,
        number: null,
        answers: { base, quote, log: log.idx },
      };
    },
  },
  decode(logs, pairs = []) {
    const facts: ReadFact[] = [];
    /** Of the last order that was filled whole. */
    let filled: { tx: string; id: number } | undefined;
    for (const log of logs) {
      const { block, hash, time, tx, idx } = log;
      const place = { block, hash, tx, idx };
      const { eventName, args } = readEvent(log, abi, "Tempo's exchange");
      const id = orderId(args.orderId, log);
      const refOf = (own: string, isBid: boolean, gems: Gems): string =>
        isBid && canBeAsk(pairs, block, gems) ? own + BID : own;
      if (eventName === "OrderPlaced") {
        const quote = quoteOf(pairs, args.token, log);
        const amounts = amountsOf(args, { base: args.token, quote }, log);
        const ref = refOf(String(id), args.isBid, amounts);
        facts.push({ kind: "offer", ...place, time, id, ref, maker: args.maker, ...amounts });
        continue;
      }
      // What a fill leads to follows it.
      if (eventName === "OrderFlipped" || eventName === "FlipFailed") {
        if (filled?.tx !== tx || filled.id !== id) {
          throw new IncompleteLogs(
            `block ${block}, transaction ${tx}: the fill of order ${id} before its ${eventName} is missing`,
          );
        }
        if (eventName === "FlipFailed") continue;
      }
      if (eventName === "OrderFilled" && !args.partialFill) filled = { tx, id };
      facts.push({
        ...{ kind: "update", ...place, time, offerId: id },
        ...("taker" in args && { taker: args.taker }),
        factsOf(offer) {
          const isBid = offer.ref.endsWith(BID) || !canBeAsk(pairs, offer.block, offer);
          const own = { ...place, offerId: id, ref: offer.ref };
          const gems = { lotGem: offer.lotGem, bidGem: offer.bidGem };
          const rest = (lotAmt: bigint, bidAmt: bigint): UpdatePart[] => [
            { kind: "cancellation", ...own, ...gems, lotAmt, bidAmt },
          ];
          const left = isBid ? offer.bidAmt : offer.lotAmt;
          if (eventName === "OrderCancelled") {
            return left > 0n ? rest(offer.lotAmt, offer.bidAmt) : undefined;
          }
          if (eventName === "OrderFlipped") {
            if (left !== 0n || isBid === args.isBid) return undefined;
            const [base, quote] = isBid ? [gems.bidGem, gems.lotGem] : [gems.lotGem, gems.bidGem];
            const amounts = amountsOf(args, { base, quote }, log);
            const ref = refOf(`${id}:${block}.${idx}`, args.isBid, amounts);
            const again = { ...place, id, ref, maker: args.maker, ...amounts };
            return [{ kind: "offer", ...again, isAgain: true }];
          }
          const base = args.amountFilled;
          if (base > left || (base === left) === args.partialFill) return undefined;
          const quote = quoteAmount(base, priceOf(offer, isBid), isBid ? "down" : "up");
          const [lotAmt, bidAmt] = isBid ? [quote, base] : [base, quote];
          const { maker, taker } = args;
          const trade = { ...own, ...gems, kind: "trade" as const, maker, taker, lotAmt, bidAmt };
          const dust = offer.lotAmt - lotAmt;
          // What the rounding of its fills has left of a bid is part of no later one.
          const isOver = !args.partialFill && dust > 0n;
          return [{ ...trade, isRounded: true }, ...(isOver ? rest(dust, 0n) : [])];
        },
      });
    }
    return facts;
  },
};

function orderId(given: bigint, log: ChainLog): number {
  if (given <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(given);
  throw new Halt(`The log ${log.idx} of block ${log.block} is of order ${given}: ids end at 2^53`);
}

/** Behind the ref of a bid whose tokens an ask can have too. */
const BID = ":bid";

/** Whether an ask can have these tokens in this block: of two that have each had the other as quote, a bid has them too. */
const canBeAsk = (pairs: readonly Pair[], block: number, { lotGem, bidGem }: Gems): boolean =>
  pairs.some(
    (one) =>
      one.block <= block && one.answers["base"] === lotGem && one.answers["quote"] === bidGem,
  );

/** An order names its base alone: the quote is that of the last pair before it. */
function quoteOf(pairs: readonly Pair[], base: string, { block, idx }: ChainLog): string {
  const isBefore = (one: Pair): boolean =>
    one.block < block || (one.block === block && Number(one.answers["log"]) < idx);
  const pair = pairs.findLast((one) => one.answers["base"] === base && isBefore(one));
  if (pair !== undefined) return String(pair.answers["quote"]);
  throw new IncompleteLogs(
    `the log ${idx} of block ${block} is an order for ${base}, and the log of its pair is missing: the first block is that of the exchange's first pair`,
  );
}

const quoteAmount = (base: bigint, price: bigint, rounded: "up" | "down"): bigint =>
  (base * price + (rounded === "up" ? SCALE - 1n : 0n)) / SCALE;

/** A bid gives what it has to deposit; an ask wants what it gets where one take fills it. */
function amountsOf(
  { amount, isBid, tick }: { amount: bigint; isBid: boolean; tick: number },
  { base, quote }: { base: string; quote: string },
  log: ChainLog,
): Pick<LeftOffer, "lotGem" | "lotAmt" | "bidGem" | "bidAmt"> {
  if (amount <= SCALE) {
    throw new Halt(
      `The log ${log.idx} of block ${log.block} is of an order for ${amount}, less than the exchange takes: its price is not to be read from its amounts`,
    );
  }
  const quotes = quoteAmount(amount, SCALE + BigInt(tick), "up");
  return isBid
    ? { lotGem: quote, lotAmt: quotes, bidGem: base, bidAmt: amount }
    : { lotGem: base, lotAmt: amount, bidGem: quote, bidAmt: quotes };
}

/** Of an order's whole amounts: the quote was rounded up from a base above the scale, so that the quotient rounds back. */
const priceOf = ({ whole: { lotAmt, bidAmt } }: LeftOffer, isBid: boolean): bigint =>
  isBid ? (lotAmt * SCALE) / bidAmt : (bidAmt * SCALE) / lotAmt;

function orderCall(id: number): ReturnType<ContractState["offer"]> {
  return {
    name: `getOrder(${id})`,
    data: withInteger("function getOrder(uint128)", id),
    read(result) {
      const [, , , isBid, , , remaining] = wordsOf(result, 11) ?? [];
      if (remaining === undefined) return undefined;
      return isBid === 1n
        ? { lotAmt: undefined, bidAmt: remaining }
        : { lotAmt: remaining, bidAmt: undefined };
    },
  };
}
