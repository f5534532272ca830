// One market's simulated book: its open offers, and how its fair price moves.
import type { Market } from "./simulated-tokens.ts";
import type { OpenOffer } from "./offer.ts";
import type { Random } from "./random.ts";

/** `step` of a market is in millionths. */
export const MILLION = 1_000_000n;

export interface Quoted {
  offer: OpenOffer;
  price: bigint;
}

/** One market's open offers, best first on each side, and the price that traders think fair. */
export interface Book {
  market: Market;
  fair: bigint;
  sell: Quoted[];
  buy: Quoted[];
}

/** The price moves by a step at most, is drawn to its centre, and keeps within its bounds. */
export function drift(random: Random, book: Book): void {
  const { centre, step } = book.market;
  const move = BigInt(random.below(2 * step + 1) - step);
  const moved = book.fair + (book.fair * move) / MILLION + (centre - book.fair) / 1000n;
  const lowest = (centre * 4n) / 5n;
  const highest = (centre * 5n) / 4n;
  book.fair = moved < lowest ? lowest : moved > highest ? highest : moved;
}

/** Takers take what is better than the fair price first. */
export function takenSide(random: Random, { fair, sell, buy }: Book): "sell" | "buy" {
  const [ask, bid] = [sell[0], buy[0]];
  if (bid === undefined) return "sell";
  if (ask === undefined) return "buy";
  if (ask.price < fair) return "sell";
  if (bid.price > fair) return "buy";
  return random.chance(50) ? "sell" : "buy";
}

/** Whether an offer is farther from the fair price than so many steps. */
export function isFar({ fair, market }: Book, { price }: Quoted, steps: number): boolean {
  const distance = price > fair ? price - fair : fair - price;
  return distance * MILLION > fair * BigInt(steps * market.step);
}

/** Halfway between the best bid and ask, or the better known of the two. */
export function middle({ sell, buy }: Book): bigint | undefined {
  const [ask, bid] = [sell[0]?.price, buy[0]?.price];
  if (ask === undefined || bid === undefined) return ask ?? bid;
  return (ask + bid) / 2n;
}
