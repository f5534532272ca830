// Writes blocks by plain inserts of complete rows as the tables' owner, to compare with ingest.write_block.
import type { Client } from "../../db/connect.ts";
import type { Call } from "../data/fill.ts";
import type { Block, Labels } from "../data/constant-exchange.ts";

const SHARED = "id market_id market act pair maker lot_gem lot_tkn lot_amt";
const PRICED = "bid_gem bid_tkn bid_amt price block time tx";
const OFFER_COLUMNS = `${SHARED} ${PRICED}`.split(" ");
const TRADE_COLUMNS = `${SHARED} offer_id taker ${PRICED} idx`.split(" ");

export interface Bare {
  /** The statements that write this block. */
  callsFor: (block: Block) => Call[];
  /** Runs the statements of a block, in one transaction. */
  write: (calls: Call[]) => Promise<void>;
}

/** `client` owns the tables. */
export async function bareOn(client: Client): Promise<Bare> {
  const { rows } = await client.query<{ id: number; market: string }>(
    "select id, market from dex_pair",
  );
  const { rows: newest } = await client.query<{ id: string }>(
    "select last_trade as id from dex_private.write_state",
  );
  const marketIds = new Map(rows.map(({ id, market }) => [market, id]));
  let lastTrade = Number(newest[0]?.id ?? 0);

  function labels({ market: { base, quote }, sells, price }: Labels): Record<string, unknown> {
    const market = `${base}${quote}`;
    const [lot_tkn, bid_tkn] = sells ? [base, quote] : [quote, base];
    const market_id = marketIds.get(market);
    return { market_id, market, act: sells ? "sell" : "buy", lot_tkn, bid_tkn, price };
  }

  return {
    callsFor({ trades, offers, cancelled, number: block, time }) {
      const rowOf = (row: Labels): Record<string, unknown> => {
        return { ...row, ...labels(row), block, time };
      };
      const tradeRows = trades.map((trade) => ({ ...rowOf(trade), id: (lastTrade += 1) }));
      const killing = {
        name: "bare update",
        text: "update dex_offer set killed = $1 where id = any ($2)",
        values: [block, cancelled],
      };
      return [
        ...(trades.length > 0 ? [insert("dex_trade", TRADE_COLUMNS, tradeRows)] : []),
        ...(offers.length > 0 ? [insert("dex_offer", OFFER_COLUMNS, offers.map(rowOf))] : []),
        ...(cancelled.length > 0 ? [killing] : []),
      ];
    },

    async write(calls) {
      if (calls.length > 1) await client.query("begin");
      for (const call of calls) await client.query(call);
      if (calls.length > 1) await client.query("commit");
    },
  };
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
