// The simulated exchange: its books, and what happens to them in a block. Whoever asks for the
// same blocks with the same seed gets the same events; nothing here reads a clock.
import type { TradeRow } from "../load/checked-rows.ts";
import { divideUp, powerOfTen, toDecimal } from "./amount.ts";
import {
  drift,
  isFar,
  middle,
  MILLION,
  takenSide,
  type Book,
  type Quoted,
} from "./simulated-book.ts";
import { MAKERS, TAKERS, type Market } from "./simulated-tokens.ts";
import { transactionHash } from "./identity.ts";
import { priceOf, tokensOf, type OpenOffer } from "./offer.ts";
import { makeRandom, type Random } from "./random.ts";

/** What is to happen in a block. */
export interface BlockPlan {
  number: number;
  /** ISO 8601, UTC. */
  time: string;
  /** How many trades, exactly. */
  trades: number;
  /** The markets that are open in this block: at least one when there are trades. */
  markets: readonly Market[];
  /** The markets whose offers are all cancelled in it. */
  closing: readonly Market[];
  /** How many offers stand on each side of a book that is traded in it; 6 unless given. */
  depth?: number;
}

/** What happened in a block, each list in its order. */
export interface BlockEvents {
  made: OpenOffer[];
  filled: OpenOffer[];
  killed: OpenOffer[];
  trades: TradeRow[];
}

/** Where an exchange goes on from. */
export interface ExchangeState {
  nextOfferId: number;
  open: readonly OpenOffer[];
  /** The last price of a market, times 10^18, by its hash of selling offers. */
  lastPrices: ReadonlyMap<string, bigint>;
}

/** How many offers stand on each side of a book, unless a plan says it. */
const DEPTH = 6;

/** A block while it is being made. */
interface Draft extends BlockEvents {
  plan: BlockPlan;
  random: Random;
  transactions: number;
  logs: number;
}

export class Exchange {
  readonly #seed: number;
  readonly #books = new Map<Market, Book>();
  readonly #lastPrices: ReadonlyMap<string, bigint>;
  #nextOfferId: number;

  /** A new exchange, or one that goes on from a state. */
  constructor(seed: number, state?: ExchangeState) {
    this.#seed = seed;
    this.#nextOfferId = state?.nextOfferId ?? 1;
    this.#lastPrices = state?.lastPrices ?? new Map<string, bigint>();
    for (const offer of state?.open ?? []) {
      this.#stand(this.#book(offer.market), { offer, price: priceOf(offer) });
    }
    for (const book of this.#books.values()) book.fair = middle(book) ?? book.fair;
  }

  /** Every offer that has something left. */
  get open(): OpenOffer[] {
    return [...this.#books.values()].flatMap((book) =>
      [...book.sell, ...book.buy].map(({ offer }) => offer),
    );
  }

  /** Makes the next block. Block numbers must rise; the caller sees to it. */
  make(plan: BlockPlan): BlockEvents {
    const random = makeRandom(this.#seed, plan.number);
    const draft: Draft = {
      plan,
      random,
      transactions: 0,
      // Other contracts log in the block too.
      logs: random.below(20),
      made: [],
      filled: [],
      killed: [],
      trades: [],
    };

    for (const market of plan.closing) this.#close(draft, this.#book(market));
    for (const market of plan.markets) {
      const book = this.#book(market);
      if (book.sell.length === 0 && book.buy.length === 0) this.#requote(draft, book);
    }
    while (draft.trades.length < plan.trades) {
      const book = this.#book(weighted(random, plan.markets));
      this.#take(draft, book, plan.trades - draft.trades.length);
      this.#requote(draft, book);
    }
    const { made, filled, killed, trades } = draft;
    return { made, filled, killed, trades };
  }

  #book(market: Market): Book {
    const known = this.#books.get(market);
    if (known !== undefined) return known;
    const fair = this.#lastPrices.get(market.hashes.sell) ?? market.centre;
    const book: Book = { market, fair, sell: [], buy: [] };
    this.#books.set(market, book);
    return book;
  }

  #stand(book: Book, quoted: Quoted): void {
    const side = book[quoted.offer.act];
    const better = (other: Quoted): boolean =>
      quoted.offer.act === "sell" ? other.price <= quoted.price : other.price >= quoted.price;
    let place = side.length;
    while (place > 0 && !better(side[place - 1] ?? quoted)) place -= 1;
    side.splice(place, 0, quoted);
  }

  /** One taker's transaction: it matches the best offer, sometimes the next ones too. */
  #take(draft: Draft, book: Book, max: number): void {
    const { random, plan } = draft;
    drift(random, book);
    const act = takenSide(random, book);
    const side = book[act];
    const fills = Math.min(max, random.chance(18) ? 2 + random.below(3) : 1);
    const tx = this.#transaction(draft);
    const taker = anotherThan(random, side[0]?.offer.maker);

    for (let fill = 1; fill <= fills; fill += 1) {
      const offer = side[0]?.offer;
      if (offer === undefined || offer.maker === taker) return;
      const left = offer.lot - offer.taken;
      const wanted = (offer.lot * BigInt(150 + random.below(500))) / 1000n;
      // A sweep empties an offer before it goes to the next, and no taker leaves dust.
      const whole = fill < fills || left - wanted < offer.lot / 10n;
      const lot = whole ? left : wanted;
      // Rounded up on what was taken so far: no part is off the offer's price by a whole unit, and
      // all parts together are the bid exactly.
      const paid = divideUp(offer.taken * offer.bid, offer.lot);
      offer.taken += lot;
      const bid = divideUp(offer.taken * offer.bid, offer.lot) - paid;
      if (whole) {
        side.shift();
        draft.filled.push(offer);
      }

      const tokens = tokensOf(offer);
      draft.trades.push({
        offer_id: offer.id,
        pair: offer.market.hashes[act],
        maker: offer.maker,
        taker,
        lot_gem: tokens.lot.address,
        lot_amt: toDecimal(lot, tokens.lot.decimals),
        bid_gem: tokens.bid.address,
        bid_amt: toDecimal(bid, tokens.bid.decimals),
        block: plan.number,
        time: plan.time,
        tx,
        idx: this.#log(draft),
      });
    }
  }

  /** Makers withdraw what the price has left behind, and make new offers near it. */
  #requote(draft: Draft, book: Book): void {
    const { random, plan } = draft;
    const { depth = DEPTH } = plan;
    for (const act of ["sell", "buy"] as const) {
      const side = book[act];
      const best = side[0];
      const worst = side.at(-1);
      if (best !== undefined && worst !== undefined) {
        const left = isFar(book, worst, 15) || (side.length >= depth && isFar(book, best, 4));
        if (left) this.#kill(draft, side, side.length - 1);
        else if (random.chance(4)) this.#kill(draft, side, random.below(side.length));
      }
      while (side.length < depth) this.#offer(draft, book, act);
    }
  }

  #offer(draft: Draft, book: Book, act: "sell" | "buy"): void {
    const { random, plan } = draft;
    const { market, fair } = book;
    const away =
      (fair * BigInt(Math.floor(market.step / 2) + random.below(market.step * 5))) / MILLION;
    const apart = (fair * BigInt(market.step)) / (2n * MILLION);
    let price = act === "sell" ? fair + away : fair - away;
    // The book never crosses: an offer keeps its distance from the other side's best.
    const opposite = book[act === "sell" ? "buy" : "sell"][0];
    if (opposite !== undefined) {
      const nearest = act === "sell" ? opposite.price + apart : opposite.price - apart;
      if (act === "sell" ? price < nearest : price > nearest) price = nearest;
    }

    // Half of the makers offer a round amount of base, the others whatever they have.
    const round = (market.size * BigInt(300 + random.below(1700))) / 1000n;
    const odd = BigInt(random.below(10 ** Math.min(9, market.base.decimals - 3)));
    const base = random.chance(50) ? round : round + odd;
    const quote =
      (base * price * powerOfTen(market.quote.decimals)) / powerOfTen(18 + market.base.decimals);
    const offer: OpenOffer = {
      id: this.#nextOfferId,
      market,
      act,
      maker: random.pick(MAKERS),
      lot: act === "sell" ? base : quote,
      bid: act === "sell" ? quote : base,
      taken: 0n,
      block: plan.number,
      time: plan.time,
      tx: this.#transaction(draft),
    };
    this.#nextOfferId += 1;
    this.#log(draft);
    this.#stand(book, { offer, price: priceOf(offer) });
    draft.made.push(offer);
  }

  #close(draft: Draft, book: Book): void {
    for (const side of [book.sell, book.buy]) {
      while (side.length > 0) this.#kill(draft, side, side.length - 1);
    }
  }

  #kill(draft: Draft, side: Quoted[], place: number): void {
    for (const { offer } of side.splice(place, 1)) {
      draft.killed.push(offer);
      draft.transactions += 1;
      this.#log(draft);
    }
  }

  #transaction(draft: Draft): string {
    draft.transactions += 1;
    return transactionHash(this.#seed, draft.plan.number, draft.transactions);
  }

  /** The next log index of the block. */
  #log(draft: Draft): number {
    draft.logs += 1;
    return draft.logs;
  }
}

function weighted(random: Random, markets: readonly Market[]): Market {
  const total = markets.reduce((sum, market) => sum + market.weight, 0);
  let place = random.below(total);
  for (const market of markets) {
    if (place < market.weight) return market;
    place -= market.weight;
  }
  return random.pick(markets);
}

/** No account takes its own offer. */
function anotherThan(random: Random, maker: string | undefined): string {
  const place = random.below(TAKERS.length);
  const taker = TAKERS[place];
  if (taker !== undefined && taker !== maker) return taker;
  return TAKERS[(place + 1) % TAKERS.length] ?? TAKERS[0] ?? "";
}
