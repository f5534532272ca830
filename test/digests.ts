// The digests of blocks, computed from the rows alone: it shares nothing with db/schema/kept/digest.sql.
import { createHash } from "node:crypto";
import type { Database } from "../db/connect.ts";

type Value = string | number | boolean | null | undefined;
type Fact = Record<string, Value> & { block: number };

/** As PostgreSQL prints them, amounts with 18 fractional digits. */
const FACTS = `
  select
    (select json_agg(block order by block.number) from (
      select number, hash, parent, extract(epoch from time)::text as time, has_rows, encode(digest, 'hex') as digest from dex_block
    ) as block) as blocks,
    (select json_agg(offer) from (
      select block, id, ref, maker, pair, lot_gem, lot_amt::text, bid_gem, bid_amt::text, tx, venue, closed from dex_offer
    ) as offer) as offers,
    (select json_agg(trade) from (
      select block, idx, offer_id, maker, taker, pair, lot_gem, lot_amt::text, bid_gem, bid_amt::text, tx, venue from dex_trade
    ) as trade) as trades,
    (select json_agg(cancellation) from dex_private.cancellation) as cancellations,
    (select json_agg(pool) from (
      select block, venue, gem0, reserve0::text, gem1, reserve1::text, fee, tick_spacing, sqrt_price::text, tick, liquidity::text, nets
      from dex_pool_state join (select venue, gem0, gem1, fee, tick_spacing from dex_pool) as pool using (venue)
    ) as pool) as pools,
    (select json_agg(known) from dex_private.offer_ref as known) as refs`;

interface Facts {
  blocks: (Fact & { number: number; digest: string | null })[] | null;
  offers: Fact[] | null;
  trades: Fact[] | null;
  cancellations: Fact[] | null;
  pools: Fact[] | null;
  refs: { offer_id: number; venue: string; ref: string }[] | null;
}

export interface Digested {
  number: number;
  recorded: string | null;
  computed: string;
}

const plain = (decimal: Value): string =>
  String(decimal).includes(".") ? String(decimal).replace(/\.?0+$/, "") : String(decimal);
const lower = (text: Value): string => (text == null ? "-" : String(text).toLowerCase());

/** What the database has recorded and what its rows say, of each block in the order of numbers. For a role that reads all tables. */
export async function digestsOf(db: Database): Promise<Digested[]> {
  const { rows } = await db.query<Facts>(FACTS);
  const { blocks, offers, trades, cancellations, pools, refs } = rows[0]!;
  const orders = new Map(
    (refs ?? []).map((known) => [
      known.offer_id,
      `${known.venue.toLowerCase()}:${JSON.stringify(known.ref)}`,
    ]),
  );
  const nameOf = (id: Value): string =>
    id === null ? "-" : (orders.get(Number(id)) ?? String(id));
  const lines = new Map<number, string[]>();
  const add = ({ block }: Fact, ...fields: unknown[]): void => {
    lines.set(block, [...(lines.get(block) ?? []), fields.join(" ")]);
  };
  const swapOf = (row: Fact): unknown[] => [
    row["pair"],
    lower(row["lot_gem"]),
    plain(row["lot_amt"]),
    lower(row["bid_gem"]),
    plain(row["bid_amt"]),
    row["tx"],
    lower(row["venue"]),
  ];
  for (const row of offers ?? []) {
    const state = row["closed"] === true ? "closed" : "open";
    add(row, "offer", nameOf(row["id"]), lower(row["maker"]), ...swapOf(row), state);
  }
  for (const row of trades ?? []) {
    const [maker, taker] = [lower(row["maker"]), lower(row["taker"])];
    add(row, "trade", row["idx"], nameOf(row["offer_id"]), maker, taker, ...swapOf(row));
  }
  for (const row of pools ?? []) {
    const [venue, gem0, gem1] = ["venue", "gem0", "gem1"].map((name) => lower(row[name]));
    if (row["nets"] == null) {
      const reserves = [gem0, plain(row["reserve0"]), gem1, plain(row["reserve1"])];
      add(row, "pool", venue, ...reserves, row["fee"]);
    } else {
      const { fee, tick_spacing, sqrt_price, tick, liquidity, nets } = row;
      const has = [fee, tick_spacing, sqrt_price, tick, liquidity, ...(nets === "" ? [] : [nets])];
      add(row, "ranges", venue, gem0, gem1, ...has);
    }
  }
  for (const row of cancellations ?? []) add(row, "cancel", nameOf(row["offer_id"]));

  let digest = Buffer.alloc(32);
  return (blocks ?? []).map((row) => {
    const { number } = row;
    if (row["has_rows"] === true) {
      const head = `block ${number} ${row["hash"] ?? "-"} ${plain(row["time"])}`;
      const sorted = (lines.get(number) ?? [])
        .map((line) => Buffer.from(line))
        .sort((one, other) => Buffer.compare(one, other));
      const text = [head, ...sorted.map(String)].map((line) => `${line}\n`).join("");
      digest = createHash("sha256").update(digest).update(text).digest();
    }
    return { number, recorded: row.digest, computed: digest.toString("hex") };
  });
}

/** Throws where a block has recorded another digest. */
export async function compareDigests(db: Database): Promise<void> {
  for (const { number, recorded, computed } of await digestsOf(db)) {
    if (recorded === computed) continue;
    throw new Error(`block ${number} has the digest ${recorded}, and its rows say ${computed}`);
  }
}
