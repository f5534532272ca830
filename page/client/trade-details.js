// What GraphQL has of trades beside REST: the maker's side, both amounts, the accounts and the transaction.
import { decimalOf, unitsOf } from "./decimal.js";
import { ask } from "./reading.js";

/**
 * @typedef {{
 *   id: string,
 *   act: string,
 *   lotAmt: string,
 *   bidAmt: string,
 *   maker: string,
 *   taker: string,
 *   tx: string,
 * }} Details
 */

/** So many in one question. */
const PAGE = 100;

const QUERY = `query ($ids: [BigInt!]!, $count: Int!) {
  allDexTrades(first: $count, filter: { id: { in: $ids } }) {
    nodes { id act lotAmt bidAmt maker taker tx }
  }
}`;

/** Without trailing zeros, as REST has amounts. @param {string} amount */
const plain = (amount) => decimalOf(unitsOf(amount));

export class TradeDetails {
  /** @type {Map<number, Details>} */
  #known = new Map();
  /** @type {Set<number>} */
  #asked = new Set();
  /** Grows where what was asked before may be void. */
  #generation = 0;
  /** Grows with each change. */
  changes = 0;

  /** @param {number} id */
  of(id) {
    return this.#known.get(id);
  }

  /** @param {readonly Details[]} found */
  add(found) {
    for (const one of found) {
      const [lotAmt, bidAmt] = [plain(one.lotAmt), plain(one.bidAmt)];
      this.#known.set(Number(one.id), { ...one, lotAmt, bidAmt });
    }
    this.changes += 1;
  }

  /** Drops those of greater ids. @param {number} last */
  retract(last) {
    this.#generation += 1;
    this.#asked.clear();
    for (const id of this.#known.keys()) if (id > last) this.#known.delete(id);
    this.changes += 1;
  }

  /** Reads those that are not known, and drops the others. @param {readonly number[]} ids */
  async want(ids) {
    const generation = this.#generation;
    const wanted = new Set(ids);
    for (const id of this.#known.keys()) if (!wanted.has(id)) this.#known.delete(id);
    for (const id of this.#asked) if (!wanted.has(id)) this.#asked.delete(id);
    const missing = ids.filter((id) => !this.#known.has(id) && !this.#asked.has(id)).slice(0, PAGE);
    if (missing.length === 0) return;
    for (const id of missing) this.#asked.add(id);
    /** @type {{ allDexTrades: { nodes: Details[] } } | undefined} */
    const found = await ask(
      QUERY,
      { ids: missing.map(String), count: missing.length },
      () => this.#generation === generation,
    );
    if (found) this.add(found.allDexTrades.nodes.filter(({ id }) => this.#asked.has(Number(id))));
  }
}
