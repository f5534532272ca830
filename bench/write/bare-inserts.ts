// Writes blocks by plain inserts of complete rows as the tables' owner, to compare with ingest.write_block.
import type { Client } from "../../db/connect.ts";
import type { Call } from "../data/fill.ts";
import type { Block, Labels } from "../data/constant-exchange.ts";

const SHARED = "id market_id market act pair maker lot_gem lot_tkn lot_amt";
const PRICED = "bid_gem bid_tkn bid_amt price block time tx";
const OFFER_COLUMNS = `${SHARED} ${PRICED}`.split(" ");
const TRADE_COLUMNS = `${SHARED} offer_id taker ${PRICED} idx`.split(" ");

export class Bare {
  #client: Client;
  #marketIds: Map<string, number>;
  #lastTrade: number;

  private constructor(client: Client, marketIds: Map<string, number>, lastTrade: number) {
    this.#client = client;
    this.#marketIds = marketIds;
    this.#lastTrade = lastTrade;
  }

  /** `client` owns the tables. */
  static async on(client: Client): Promise<Bare> {
    const { rows } = await client.query<{ id: number; market: string }>(
      "select id, market from dex_pair",
    );
    const { rows: newest } = await client.query<{ id: string }>(
      "select last_trade as id from dex_private.write_state",
    );
    const marketIds = new Map(rows.map(({ id, market }) => [market, id]));
    return new Bare(client, marketIds, Number(newest[0]?.id ?? 0));
  }

  /** The statements that write this block. */
  callsFor(block: Block): Call[] {
    const { trades, offers, cancelled, number, time } = block;
    const calls: Call[] = [];
    if (trades.length > 0) {
      const rows = trades.map((trade) => {
        this.#lastTrade += 1;
        return { ...trade, ...this.#labels(trade), id: this.#lastTrade, block: number, time };
      });
      calls.push(insert("dex_trade", TRADE_COLUMNS, rows));
    }
    if (offers.length > 0) {
      const rows = offers.map((offer) => ({
        ...offer,
        ...this.#labels(offer),
        block: number,
        time,
      }));
      calls.push(insert("dex_offer", OFFER_COLUMNS, rows));
    }
    if (cancelled.length > 0) {
      calls.push({
        name: "bare update",
        text: "update dex_offer set killed = $1 where id = any ($2)",
        values: [number, cancelled],
      });
    }
    return calls;
  }

  /** Runs the statements of a block, in one transaction. */
  async write(calls: Call[]): Promise<void> {
    if (calls.length > 1) await this.#client.query("begin");
    for (const call of calls) await this.#client.query(call);
    if (calls.length > 1) await this.#client.query("commit");
  }

  #labels({ market: { base, quote }, sells, price }: Labels): Record<string, unknown> {
    const market = `${base}${quote}`;
    const [lot_tkn, bid_tkn] = sells ? [base, quote] : [quote, base];
    const market_id = this.#marketIds.get(market);
    return { market_id, market, act: sells ? "sell" : "buy", lot_tkn, bid_tkn, price };
  }
}

function insert(table: string, columns: string[], rows: Record<string, unknown>[]): Call {
  const tuples = rows.map(
    (_, row) => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(", ")})`,
  );
  return {
    name: `bare ${table} ${rows.length}`,
    text: `insert into ${table} (${columns.join(", ")}) values ${tuples.join(", ")}`,
    values: rows.flatMap((row) => columns.map((column) => row[column])),
  };
}
