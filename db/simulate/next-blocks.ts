// Extends the exchange that is in a database by its next blocks. Several processes may do so at once:
// they take turns, and each goes on from what the others left.
import { connect, type Client } from "../connect.ts";
import type { OfferRow } from "../load/checked-rows.ts";
import { loadInTransaction } from "../load/write-rows.ts";
import { TOKENS } from "./simulated-tokens.ts";
import { pairRows } from "./write-csv.ts";
import { Exchange, type BlockEvents, type BlockPlan } from "./simulated-exchange.ts";
import { offerRow } from "./offer.ts";
import { findHead, findHoldings, OtherDataError, restore, type Head } from "./restore.ts";

/** A block that is to be written, with what happened in it. */
export interface MadeBlock extends BlockEvents, Pick<BlockPlan, "number" | "time"> {}

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
    return new Ledger(client, seed);
  }

  /**
   * Takes one turn: `make` makes the next blocks, one or more, on the exchange as it is now. All of them
   * are written, or none. Throws OtherDataError where the database holds anything but a simulated
   * exchange.
   */
  async turn(make: (turn: Turn) => Promise<MadeBlock[]>): Promise<void> {
    await this.#client.query("begin");
    try {
      await this.#client.query("select ingest.take_turn()");
      const head = await findHead(this.#client);
      if (head === null || !sameHead(head, this.#known?.head)) this.#known = undefined;
      const exchange = this.#known?.exchange ?? (await this.#restore());
      // Until it is written, what `exchange` says has not happened.
      this.#known = undefined;
      const blocks = await make({ exchange, head, client: this.#client });
      await this.#write(blocks, head === null);
      await this.#client.query("commit");
      const last = blocks.at(-1);
      const written = last && { block: last.number, time: Date.parse(last.time) / 1000 };
      if (written !== undefined) this.#known = { exchange, head: written };
    } catch (error) {
      // Where the connection is lost, so is the transaction; the first error is the cause.
      await this.#client.query("rollback").catch(() => undefined);
      throw error;
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

  /** Writes one block as an indexer does, and many as a load does. */
  async #write(blocks: MadeBlock[], first: boolean): Promise<void> {
    const registry = first ? { tokens: TOKENS, pairs: pairRows() } : {};
    const [block, ...others] = blocks;
    if (others.length > 0) {
      const trades = blocks.flatMap((made) => made.trades);
      await loadInTransaction(this.#client, { ...registry, offers: offersOf(blocks), trades }, {});
      return;
    }
    if (first) await loadInTransaction(this.#client, registry, {});
    if (block !== undefined) await this.#writeBlock(block);
  }

  async #writeBlock({ number, time, made, trades, killed }: MadeBlock): Promise<void> {
    const offers = made.map((offer) => ({ ...offerRow(offer), killed: undefined }));
    await this.#client.query(
      "select ingest.write_block($1, $2, offers => $3, trades => $4, killed => $5)",
      [number, time, JSON.stringify(offers), JSON.stringify(trades), killed.map(({ id }) => id)],
    );
  }
}

/** Every offer that was made or cancelled in these blocks, as the last of them leaves it. */
function offersOf(blocks: MadeBlock[]): OfferRow[] {
  const offers = new Map<number, OfferRow>();
  for (const { number, made, killed } of blocks) {
    for (const offer of made) offers.set(offer.id, offerRow(offer));
    for (const offer of killed) offers.set(offer.id, offerRow(offer, number));
  }
  return [...offers.values()];
}

const sameHead = (one: Head, other: Head | undefined): boolean =>
  one.block === other?.block && one.time === other.time;
