// A deterministic exchange with a constant rate, so that histories differ only in their length.
import { pairHash } from "../../db/load/checksum.ts";
import { addressOf } from "../../db/simulate/identity.ts";

/** The content of a block, and the seconds since the previous block. */
export interface Shape {
  trades: number;
  offers: number;
  cancellations: number;
  seconds: number;
}

/** The blocks of the history, and those written after it. With trades, each shape gives 28,800 trades a day. */
export const FULL: Shape = { trades: 20, offers: 15, cancellations: 8, seconds: 60 };
export const SINGLE: Shape = { trades: 1, offers: 0, cancellations: 0, seconds: 3 };
export const EMPTY: Shape = { trades: 0, offers: 0, cancellations: 0, seconds: 12 };

/** The input of ingest.write_block: the columns of the CSV files. */
export interface GivenOffer {
  id: number;
  pair: string;
  maker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  tx: string;
}

export interface GivenTrade extends Omit<GivenOffer, "id"> {
  offer_id: number;
  taker: string;
  idx: number;
}

/** The derived columns, which plain inserts need. */
export interface Labels {
  market: Market;
  sells: boolean;
  price: string;
}

export interface Block {
  number: number;
  time: Date;
  trades: (GivenTrade & Labels)[];
  offers: (GivenOffer & Labels)[];
  cancelled: number[];
}

export interface Market {
  base: string;
  quote: string;
  baseGem: string;
  quoteGem: string;
}

interface Offer {
  given: GivenOffer & Labels;
  lotShare: bigint;
  bidShare: bigint;
  sharesLeft: number;
}

/** A third of all trades are in this market. */
export const BUSIEST = { base: "WETH", quote: "DAI", market: "WETHDAI" };
const numbered = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, n) => addressOf(`${name} ${n}`));

/** The busiest market is the first. */
export const MARKETS: Market[] = Array.from({ length: 50 }, (_, n) => {
  const [base, { quote }] = [n === 0 ? BUSIEST.base : `BASE${n}`, BUSIEST];
  return { base, quote, baseGem: addressOf(base), quoteGem: addressOf(quote) };
});
const MAKERS = numbered(3_000, "maker");
const TAKERS = numbered(20_000, "taker");

/** Of every 15 offers the 20 trades of a block take 7 completely; the other 8 are cancelled. */
const OFFERS = 15;
const TAKEN = 7;
/** Trades of the first blocks take offers that are not recorded. */
const FIRST_BLOCKS = 20;
const START = Date.parse("2026-01-01T00:00:00Z");
const UNIT = 10n ** 18n;

export class Exchange {
  #state: number;
  #number = 0;
  #time = START;
  #offerId = 0;
  /** The offers that trades of full blocks take, and those that are cancelled. */
  #taken: Offer[] = [];
  #standing: Offer[] = [];

  readonly lifetime: number;

  /** An offer that is not taken is cancelled after about `lifetime` blocks. */
  constructor(seed: number, lifetime = FIRST_BLOCKS) {
    this.#state = seed;
    this.lifetime = lifetime;
  }

  /** The next block. */
  next(shape: Shape): Block {
    this.#number += 1;
    this.#time += shape.seconds * 1000;
    const open = shape.offers > 0 ? this.#taken : this.#standing;
    const trades = Array.from({ length: shape.trades }, (_, idx) => this.#trade(idx, open));
    const isOld = this.#number > this.lifetime;
    const cancelled = this.#standing
      .splice(0, isOld ? shape.cancellations : 0)
      .map(({ given }) => given.id);
    const offers = Array.from({ length: shape.offers }, () => this.#offer());
    for (const offer of offers) {
      (offer.given.id % OFFERS < TAKEN ? this.#taken : this.#standing).push(offer);
    }
    return {
      number: this.#number,
      time: new Date(this.#time),
      trades,
      cancelled,
      offers: offers.map(({ given }) => given),
    };
  }

  /** Saves the state; the returned function restores it, after ingest.take_back. */
  save(): () => void {
    const [state, number, time, offerId] = [this.#state, this.#number, this.#time, this.#offerId];
    const copies = structuredClone([this.#taken, this.#standing]);
    return () => {
      [this.#state, this.#number, this.#time, this.#offerId] = [state, number, time, offerId];
      [this.#taken = [], this.#standing = []] = structuredClone(copies);
    };
  }

  #trade(idx: number, open: Offer[]): GivenTrade & Labels {
    const at = this.#random(open.length);
    const offer = this.#number > FIRST_BLOCKS ? pick(open, at) : this.#offer();
    offer.sharesLeft -= 1;
    if (offer.sharesLeft === 0) open.splice(at, 1);
    const { pair, maker, lot_gem, bid_gem, market, sells, price } = offer.given;
    return {
      ...{
        offer_id: offer.given.id,
        pair,
        maker,
        taker: pick(TAKERS, this.#skewed(TAKERS.length)),
      },
      ...{ lot_gem, lot_amt: decimal(offer.lotShare), bid_gem, bid_amt: decimal(offer.bidShare) },
      ...{ tx: this.#hash(), idx, market, sells, price },
    };
  }

  #offer(): Offer {
    this.#offerId += 1;
    const market = pick(MARKETS, this.#random(3) === 0 ? 0 : this.#skewed(MARKETS.length));
    const sells = this.#random(2) === 0;
    const base = BigInt(this.#random(1e9)) * 10n ** 10n + BigInt(this.#random(1e9)) + 1n;
    const quote = base * 2n + BigInt(this.#random(1e6)) * 10n ** 10n;
    const [lotShare, bidShare] = sells ? [base, quote] : [quote, base];
    // Seven offers have twenty shares.
    const taken = this.#offerId % OFFERS === 0 ? 2 : 3;
    const shares = this.#offerId % OFFERS < TAKEN ? taken : 1000;
    const { baseGem, quoteGem } = market;
    const [lotGem, bidGem] = sells ? [baseGem, quoteGem] : [quoteGem, baseGem];
    const given = {
      ...{ id: this.#offerId, pair: pairHash(lotGem, bidGem) },
      ...{ maker: pick(MAKERS, this.#skewed(MAKERS.length)) },
      ...{ lot_gem: lotGem, lot_amt: decimal(lotShare * BigInt(shares)) },
      ...{ bid_gem: bidGem, bid_amt: decimal(bidShare * BigInt(shares)) },
      ...{ tx: this.#hash(), market, sells },
      // Rounded half away from zero, like in the database.
      price: decimal((2n * quote * UNIT + base) / (2n * base)),
    };
    return { given, lotShare, bidShare, sharesLeft: shares };
  }

  /** A random integer from 0 to below the bound (mulberry32). */
  #random(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  #skewed(bound: number): number {
    return Math.floor((this.#random(bound) * this.#random(bound)) / bound);
  }

  #hash(): string {
    let digits = "0x";
    const eight = (): string => this.#random(2 ** 32).toString(16);
    while (digits.length < 66) digits += eight().padStart(8, "0");
    return digits;
  }
}

function pick<Item>(items: Item[], at: number): Item {
  const item = items[at];
  if (item === undefined) throw new Error(`there is no item ${at} of ${items.length}`);
  return item;
}

const decimal = (units: bigint): string =>
  `${units / UNIT}.${String(units % UNIT).padStart(18, "0")}`;
