// Reads the events of the market of Rubicon v2: logs in, facts out.
import { parseAbi, toEventSelector } from "viem";
import { IncompleteLogs, type ChainLog, type Decoder, type ReadFact } from "../exchange-facts.ts";
import { readEvent } from "./read-event.ts";
import { checkPair, matchingMarket, offerId } from "./matching-market.ts";

const OFFER_EVENT =
  "bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt";

const EVENTS = [
  `event emitOffer(${OFFER_EVENT})`,
  `event emitCancel(${OFFER_EVENT})`,
  "event emitTake(bytes32 indexed id, bytes32 indexed pair, address indexed taker, address maker, address pay_gem, address buy_gem, uint128 take_amt, uint128 give_amt)",
  "event emitFee(bytes32 indexed id, address indexed taker, address indexed feeTo, bytes32 pair, address asset, uint256 feeAmt)",
  "event emitDelete(bytes32 indexed id, bytes32 indexed pair, address indexed maker)",
  "event LogItemUpdate(uint256 id)",
] as const;

const abi = parseAbi(EVENTS);

export const rubiconV2: Decoder = {
  kind: "rubicon-v2",
  topics: EVENTS.map((event) => toEventSelector(event)),
  marketTopics: [],
  idsAreConsecutive: true,
  // It has the same two functions.
  ...(matchingMarket.state && { state: matchingMarket.state }),

  decode(logs) {
    const facts: ReadFact[] = [];
    const seen = new Seen();
    for (const log of logs) {
      const { eventName, args } = readEvent(log, abi, "Rubicon v2");
      const id = offerId(args.id, log);
      seen.add(log, eventName, id);
      if (!("pay_gem" in args)) continue;
      const { pay_gem: lotGem, buy_gem: bidGem } = args;
      checkPair(log, args.pair, lotGem, bidGem);
      const { block, hash, tx, idx, time } = log;
      const fact = { block, hash, tx, idx, time, lotGem, bidGem };
      if ("taker" in args) {
        const { maker, taker, take_amt: lotAmt, give_amt: bidAmt } = args;
        // It is the owner, whom the event of the offer need not name, and zero for offers from before the upgrade.
        facts.push({
          ...{ ...fact, kind: "trade", offerId: id, maker, taker, lotAmt, bidAmt },
          makerIsOffers: true,
        });
        continue;
      }
      const { maker, pay_amt: lotAmt, buy_amt: bidAmt } = args;
      facts.push(
        eventName === "emitOffer"
          ? { ...fact, kind: "offer", id, maker, lotAmt, bidAmt }
          : { ...fact, kind: "cancellation", offerId: id, lotAmt, bidAmt },
      );
    }
    seen.check();
    return facts;
  },
};

/**
 * In a transaction every LogItemUpdate has the offer, take or cancellation that it is of, and a fee and a deletion are of an
 * offer that is taken there. So a node's answer that lacks one log of a transaction is noticed.
 */
class Seen {
  /** By transaction and offer, how often each event came. */
  readonly #counts = new Map<string, { log: ChainLog; id: number; of: Record<string, number> }>();

  add(log: ChainLog, event: string, id: number): void {
    const key = `${log.tx} ${id}`;
    const of = this.#counts.get(key)?.of ?? {};
    this.#counts.set(key, { log, id, of: { ...of, [event]: (of[event] ?? 0) + 1 } });
  }

  check(): void {
    for (const { log, id, of } of this.#counts.values()) {
      const { emitOffer = 0, emitTake = 0, emitCancel = 0, LogItemUpdate = 0 } = of;
      const { emitFee = 0, emitDelete = 0 } = of;
      const isTaken = emitTake > 0 || (emitFee === 0 && emitDelete === 0);
      // A missing LogItemUpdate would change nothing.
      if (LogItemUpdate <= emitOffer + emitTake + emitCancel && isTaken) continue;
      throw new IncompleteLogs(
        `block ${log.block}, transaction ${log.tx}: a log of offer ${id} is missing`,
      );
    }
  }
}
