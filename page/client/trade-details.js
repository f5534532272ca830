// What GraphQL has of trades beside REST: the maker's side, both amounts, the accounts and the transaction.
import { withoutZeros } from "./decimal.js";
import { ask } from "./read-service.js";

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

export class TradeDetails {
  /** @type {Map<number, Details>} */
  #known = new Map();
  /** What is shown now. @type {ReadonlySet<number>} */
  #wanted = new Set();
  /** Those that GraphQL did not have or give. @type {Set<number>} */
  #lacking = new Set();
  #isAsking = false;
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
      const [lotAmt, bidAmt] = [withoutZeros(one.lotAmt), withoutZeros(one.bidAmt)];
      this.#known.set(Number(one.id), { ...one, lotAmt, bidAmt });
    }
    this.changes += 1;
  }

  /** Drops those of greater ids. @param {number} last */
  retract(last) {
    this.#generation += 1;
    this.#lacking.clear();
    for (const id of this.#known.keys()) if (id > last) this.#known.delete(id);
    this.changes += 1;
  }

  /** Reads those that are not known, one question after another, and drops the others. @param {readonly number[]} ids */
  async want(ids) {
    this.#wanted = new Set(ids);
    for (const id of this.#known.keys()) if (!this.#wanted.has(id)) this.#known.delete(id);
    for (const id of this.#lacking) if (!this.#wanted.has(id)) this.#lacking.delete(id);
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (let missing = this.#missing(); missing.length > 0; missing = this.#missing()) {
        await this.#read(missing);
      }
    } finally {
      this.#isAsking = false;
    }
  }

  #missing() {
    return [...this.#wanted]
      .filter((id) => !this.#known.has(id) && !this.#lacking.has(id))
      .slice(0, PAGE);
  }

  /** @param {readonly number[]} ids */
  async #read(ids) {
    const generation = this.#generation;
    /** @type {{ allDexTrades: { nodes: Details[] } | null } | undefined} */
    const found = await ask(
      QUERY,
      { ids: ids.map(String), count: ids.length },
      () => this.#generation === generation && ids.some((id) => this.#wanted.has(id)),
    );
    if (this.#generation !== generation) return;
    const nodes = found?.allDexTrades?.nodes ?? [];
    this.add(nodes.filter(({ id }) => this.#wanted.has(Number(id))));
    for (const id of ids) if (this.#wanted.has(id) && !this.#known.has(id)) this.#lacking.add(id);
  }
}
