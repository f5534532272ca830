// The totals of the exchange over 24 hours, for the browser and for the server.
import { decimalOf, unitsOf } from "./decimal.js";

/** @typedef {import("./market-order.js").Market} Market */

/** @param {readonly Market[]} markets */
export function totalsOf(markets) {
  const valued = markets.flatMap(({ dollars }) => dollars?.volumeInUsd ?? []);
  const traded = markets.filter(({ summary }) => summary.trades > 0);
  return {
    /** Null where no market has a volume in dollars. */
    dollars:
      valued.length === 0 ? null : decimalOf(valued.reduce((sum, one) => sum + unitsOf(one), 0n)),
    valued: valued.length,
    traded: traded.length,
    trades: traded.reduce((sum, { summary }) => sum + summary.trades, 0),
  };
}
