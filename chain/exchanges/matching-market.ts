// Reads the events of MatchingMarket (OasisDEX): logs in, facts out.
import { parseAbi, toEventSelector, toFunctionSelector, type Hex } from "viem";
import { pairHash } from "../../db/load/checksum.ts";
import { LATEST_TIME } from "../node-answers.ts";
import { Halt } from "../halt.ts";
import { withInteger, wordsOf } from "./contract-calls.ts";
import { readEvent } from "./read-event.ts";
import {
  IncompleteLogs,
  type ChainLog,
  type Decoder,
  type Place,
  type ReadFact,
} from "../exchange-facts.ts";

const OFFER_EVENT =
  "bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt, uint64 timestamp";

const EVENTS = [
  `event LogMake(${OFFER_EVENT})`,
  `event LogKill(${OFFER_EVENT})`,
  `event LogBump(${OFFER_EVENT})`,
  "event LogTake(bytes32 id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, address indexed taker, uint128 take_amt, uint128 give_amt, uint64 timestamp)",
  "event LogTrade(uint256 pay_amt, address indexed pay_gem, uint256 buy_amt, address indexed buy_gem)",
  "event LogItemUpdate(uint256 id)",
  // Of Rubicon v1 alone.
  "event FeeTake(bytes32 indexed id, bytes32 indexed pair, address asset, address indexed taker, address feeTo, uint256 feeAmt, uint64 timestamp)",
  "event OfferDeleted(bytes32 indexed id)",
  "event LogAddTokenPairWhitelist(address baseToken, address quoteToken)",
  "event LogRemTokenPairWhitelist(address baseToken, address quoteToken)",
] as const;

const abi = parseAbi(EVENTS);
const topics = EVENTS.map((event) => toEventSelector(event));

/** The largest id of an offer that the schema has room for. */
const MAX_OFFER_ID = 2n ** 31n - 1n;

export const matchingMarket: Decoder = {
  kind: "matching-market",
  topics,
  marketTopics: topics.slice(-2),
  idsAreConsecutive: true,

  state: {
    lastOffer: {
      name: "last_offer_id()",
      data: toFunctionSelector("function last_offer_id()"),
      read(result) {
        const [id] = wordsOf(result, 1) ?? [];
        return id === undefined || id > MAX_OFFER_ID ? undefined : Number(id);
      },
    },
    offer: (id) => ({
      name: `getOffer(${id})`,
      data: withInteger("function getOffer(uint256)", id),
      read(result) {
        // pay_amt, pay_gem, buy_amt, buy_gem
        const [lotAmt, , bidAmt] = wordsOf(result, 4) ?? [];
        return lotAmt === undefined || bidAmt === undefined ? undefined : { lotAmt, bidAmt };
      },
    }),
  },

  decode(logs) {
    const facts: ReadFact[] = [];
    const balances = new Balances();
    let made: { id: number; block: number } | undefined;
    let taken: { id: number; tx: string } | undefined;
    for (const log of logs) {
      const { eventName, args } = readEvent(log, abi, "MatchingMarket");
      switch (eventName) {
        case "LogMake":
        case "LogTake":
        case "LogKill": {
          const id = offerId(args.id, log);
          const { maker, pay_gem: lotGem, buy_gem: bidGem } = args;
          const time = timeOf(log, args.timestamp);
          checkPair(log, args.pair, lotGem, bidGem);
          balances.add(log, `update of ${id}`, -1);
          const fact = { ...placeOf(log), time, lotGem, bidGem };
          if (eventName === "LogTake") {
            const { taker, take_amt: lotAmt, give_amt: bidAmt } = args;
            balances.add(log, tradeKey(lotAmt, lotGem, bidAmt, bidGem), 1);
            taken = { id, tx: log.tx };
            facts.push({ ...fact, kind: "trade", offerId: id, maker, taker, lotAmt, bidAmt });
            break;
          }
          const { pay_amt: lotAmt, buy_amt: bidAmt } = args;
          if (eventName === "LogKill") {
            facts.push({ ...fact, kind: "cancellation", offerId: id, lotAmt, bidAmt });
            break;
          }
          // The contract counts its offers.
          if (made !== undefined && id !== made.id + 1) {
            throw new IncompleteLogs(
              `offer ${id} of block ${log.block} follows offer ${made.id} of block ${made.block}: the log of an offer between them is missing`,
            );
          }
          made = { id, block: log.block };
          facts.push({ ...fact, kind: "offer", id, maker, lotAmt, bidAmt });
          break;
        }
        case "LogBump":
          balances.add(log, `update of ${offerId(args.id, log)}`, -1);
          break;
        case "LogTrade":
          balances.add(log, tradeKey(args.pay_amt, args.pay_gem, args.buy_amt, args.buy_gem), -1);
          break;
        case "FeeTake":
        case "OfferDeleted": {
          // Both follow the take of their offer.
          const id = offerId(args.id, log);
          if (taken?.id === id && taken.tx === log.tx) break;
          throw new IncompleteLogs(
            `block ${log.block}, transaction ${log.tx}: the take of offer ${id} before its ${eventName} is missing`,
          );
        }
        case "LogItemUpdate":
          balances.add(log, `update of ${args.id}`, 1);
          break;
        case "LogAddTokenPairWhitelist":
        case "LogRemTokenPairWhitelist":
          facts.push({
            ...placeOf(log),
            kind: "market",
            base: args.baseToken,
            quote: args.quoteToken,
            active: eventName === "LogAddTokenPairWhitelist",
          });
      }
    }
    balances.check();
    return facts;
  },
};

const placeOf = ({ block, hash, tx, idx }: ChainLog): Place => ({ block, hash, tx, idx });

/** The contract's events carry the time of their block, except LogBump, which is not read. */
function timeOf(log: ChainLog, timestamp: bigint): number {
  const time = Number(timestamp);
  if (time > LATEST_TIME) {
    throw new Halt(
      `The log ${log.idx} of block ${log.block} has a time after the year 9999: ${time}.`,
    );
  }
  if (log.time === undefined || log.time === time) return time;
  throw new Halt(
    `The log ${log.idx} of block ${log.block} has the timestamp ${time}, its block ${log.time}: the exchange is not a MatchingMarket`,
  );
}

export function offerId(id: bigint | Hex, log: ChainLog): number {
  const given = BigInt(id);
  if (given <= MAX_OFFER_ID) return Number(given);
  throw new Halt(
    `The log ${log.idx} of block ${log.block} is of offer ${given}: the schema takes ids up to ${MAX_OFFER_ID}`,
  );
}

/** Refuses an event whose pair is not the hash of its two tokens. */
export function checkPair(log: ChainLog, pair: Hex, lot: Hex, bid: Hex): void {
  if (pair === pairHash(lot, bid)) return;
  throw new Halt(
    `The log ${log.idx} of block ${log.block} has the pair ${pair}, which is not the hash of ${lot} and ${bid}: the exchange is of another kind`,
  );
}

const tradeKey = (lotAmt: bigint, lotGem: string, bidAmt: bigint, bidGem: string): string =>
  `trade of ${lotAmt} ${lotGem} for ${bidAmt} ${bidGem}`;

/**
 * In a transaction every LogTake has its LogTrade of equal amounts, and the other way round, and every LogItemUpdate
 * the make, take, kill or bump that it is of. So a node's answer that lacks one log of a transaction is noticed.
 */
class Balances {
  readonly #open = new Map<string, { count: number; log: ChainLog; what: string }>();

  add(log: ChainLog, what: string, by: 1 | -1): void {
    const key = `${log.tx} ${what}`;
    const count = (this.#open.get(key)?.count ?? 0) + by;
    this.#open.set(key, { count, log, what });
  }

  check(): void {
    for (const { count, log, what } of this.#open.values()) {
      // A missing LogItemUpdate would change nothing.
      if (count === 0 || (count < 0 && what.startsWith("update"))) continue;
      throw new IncompleteLogs(
        `block ${log.block}, transaction ${log.tx}: a log of the ${what} is missing`,
      );
    }
  }
}
