// Extends the exchange that is in a database, a batch of blocks at a time. Several processes may
// do so at once: they take turns, and each goes on from what the others left.
import { connect, type Client } from "../connect.ts";
import type { OfferRow, TradeRow } from "../load/rows.ts";
import { moveHead } from "../load/move-head.ts";
import { loadRows } from "../load/write.ts";
import { TOKENS } from "./catalog.ts";
import { pairRows } from "./csv.ts";
import { Exchange, offerRow, type BlockEvents } from "./exchange.ts";
import { findHead, findHoldings, OtherDataError, restore, type Head } from "./restore.ts";

/** Blocks to be written together; the last is the new head. */
export class Batch {
  readonly trades: TradeRow[] = [];
  readonly #offers = new Map<number, OfferRow>();

  /** Adds what happened in a block. A later state of an offer replaces an earlier one. */
  add(block: number, events: BlockEvents): void {
    this.trades.push(...events.trades);
    for (const offer of events.made) this.#offers.set(offer.id, offerRow(offer));
    for (const offer of events.killed) this.#offers.set(offer.id, offerRow(offer, block));
  }

  /** Every offer that was made or cancelled, whole. */
  get offers(): OfferRow[] {
    return [...this.#offers.values()];
  }
}

/** What a turn sees. */
export interface Turn {
  exchange: Exchange;
  /** The newest block; null in an empty database. */
  head: Head | null;
  client: Client;
}

export class Ledger {
  readonly #client: Client;
  readonly #seed: number;
  #known: { exchange: Exchange; head: Head } | undefined;

  private constructor(client: Client, seed: number) {
    this.#client = client;
    this.#seed = seed;
  }

  /** Connects as the writer. The caller closes it. */
  static async open(url: string, seed: number): Promise<Ledger> {
    const client = await connect(url, { role: "dex_writer", applicationName: "dex-simulate" });
    client.on("error", () => {
      // The connection is lost; the next turn says so.
    });
    return new Ledger(client, seed);
  }

  /**
   * Takes one turn: `make` makes the next blocks on the exchange as it stands, and says which block
   * is the new head; null writes nothing. All of it is written, or nothing. Throws OtherDataError
   * where the database holds anything but a simulated exchange.
   */
  async turn(make: (turn: Turn) => Promise<{ batch: Batch; head: Head } | null>): Promise<void> {
    await this.#client.query("select pg_advisory_lock(hashtextextended('dex simulation', 0))");
    try {
      const head = await findHead(this.#client);
      if (head === null || !sameHead(head, this.#known?.head)) this.#known = undefined;
      const exchange = this.#known?.exchange ?? (await this.#restore());
      // Until it is written, what `exchange` says has not happened.
      this.#known = undefined;
      const made = await make({ exchange, head, client: this.#client });
      if (made === null) {
        if (head !== null) this.#known = { exchange, head };
        return;
      }
      await this.#write(made.batch, made.head, head === null);
      this.#known = { exchange, head: made.head };
    } finally {
      await this.#client
        .query("select pg_advisory_unlock(hashtextextended('dex simulation', 0))")
        .catch(() => undefined);
    }
  }

  /** Gives the connection back, and with it the turn. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  async #restore(): Promise<Exchange> {
    const holdings = await findHoldings(this.#client);
    if (holdings === "other") throw new OtherDataError();
    return new Exchange(this.#seed, await restore(this.#client));
  }

  async #write(batch: Batch, head: Head, first: boolean): Promise<void> {
    const end = { block: head.block, time: new Date(head.time * 1000) };
    if (first || batch.offers.length > 0 || batch.trades.length > 0) {
      await loadRows(
        this.#client,
        {
          ...(first ? { tokens: TOKENS, pairs: pairRows() } : {}),
          offers: batch.offers,
          trades: batch.trades,
        },
        { moveHead: true },
      );
    }
    // The last block need not have an offer or a trade of its own.
    await moveHead(this.#client, end);
  }
}

const sameHead = (one: Head, other: Head | undefined): boolean =>
  one.block === other?.block && one.time === other.time;
