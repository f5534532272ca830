// Removes from the staging tables the rows that the database already has.
import type { Client } from "../connect.ts";
import { refuseDifference, refuseTimes } from "./contradictions.ts";
import { LoadError } from "./load-error.ts";
import { OFFER_FACTS, TRADE_FACTS, type Places, type TradeColumns } from "./staging.ts";

/** A kind of staged row, and the table that it is compared with. */
interface Kind {
  file: keyof Places;
  staged: string;
  kept: string;
  key: readonly string[];
  facts: readonly string[];
  name: (key: readonly string[]) => string;
}

const OFFER: Kind = {
  file: "offers",
  staged: "ingest.own_offer",
  kept: "dex_offer",
  key: ["id"],
  facts: OFFER_FACTS,
  name: ([id]) => `offer ${id}`,
};

const TRADE: Kind = {
  file: "trades",
  staged: "ingest.own_trade",
  kept: "dex_trade",
  key: ["tx", "idx"],
  facts: TRADE_FACTS,
  name: ([tx, idx]) => `trade ${tx}, idx ${idx}`,
};

/** A head before the first block, so that no row is too old and no cancellation too late. */
const NO_HEAD = -1;

export interface Fresh {
  /** Rows that the database has already, and duplicates. */
  known: Record<keyof Places, number>;
  /** Offers of the database that this load cancels. */
  cancelled: number;
}

/**
 * Deletes staged rows that the database has, and stages the cancellations of its offers. Throws a
 * LoadError if rows contradict each other or the database, or if a new row belongs to an existing block.
 */
export async function keepFreshRows(
  client: Client,
  places: Places,
  given: TradeColumns,
  head: number | null,
): Promise<Fresh> {
  // An empty database has no trades to compare by idx, and ingest.write_blocks counts them itself.
  if (!given.idx && head !== null) await countWithinBlocks(client);
  const trade = given.id ? { ...TRADE, facts: ["id", ...TRADE.facts] } : TRADE;
  const known = {
    trades: given.idx ? await unite(client, trade, places) : 0,
    offers: await unite(client, OFFER, places),
  };
  if (head === null) return { known, cancelled: 0 };

  await refuseOtherwise(client, trade, places, keptAs(trade), head);
  known.trades += await dropKnown(client, trade);
  await refuseOtherwise(client, OFFER, places, keptAs(OFFER), head);
  await refuseOpenOffers(client, places);
  const cancelled = await cancelKnownOffers(client);
  known.offers += await dropKnown(client, OFFER);
  return { known, cancelled };
}

async function countWithinBlocks(client: Client): Promise<void> {
  await client.query(
    `update ingest.own_trade as staged
    set idx = counted.idx
    from (
      select line, row_number() over (partition by block order by line) - 1 as idx
      from ingest.own_trade
    ) as counted
    where staged.line = counted.line`,
  );
}

const keyIn = ({ key }: Kind, table: string): string =>
  key.map((column) => `${table}.${column}`).join(", ");

const sameKey = (kind: Kind, other: string): string =>
  `(${keyIn(kind, other)}) = (${keyIn(kind, "staged")})`;

const keptAs = ({ kept }: Kind): string => `(select *, null::integer as line from ${kept})`;

/**
 * Merges rows with the same key, such as an offer's creation and its cancellation. Returns how many
 * rows were deleted.
 */
async function unite(client: Client, kind: Kind, places: Places): Promise<number> {
  const { staged } = kind;
  const key = kind.key.join(", ");
  const { rowCount: repeated } = await client.query(
    `select from ${staged} group by ${key} having count(*) > 1 limit 1`,
  );
  if (repeated === 0) return 0;
  const first = `(select distinct on (${key}) * from ${staged} order by ${key}, line)`;
  await refuseOtherwise(client, kind, places, first, NO_HEAD);
  if (kind === OFFER) {
    await client.query(
      `update ingest.own_offer as staged
      set
        killed = united.killed,
        filled = united.filled
      from (
        select id, max(killed) as killed, bool_or(filled) as filled
        from ingest.own_offer
        group by id
        having count(*) > 1
      ) as united
      where staged.id = united.id`,
    );
  }
  const { rowCount: gone } = await client.query(
    `delete from ${staged} as staged
    using ${staged} as earlier
    where ${sameKey(kind, "earlier")}
      and earlier.line < staged.line`,
  );
  return gone ?? 0;
}

interface Compared {
  line: number;
  other_line: number | null;
  block: number;
  is_known: boolean;
  key: string[];
  here: (string | null)[];
  there: (string | null)[];
}

/** Throws for the first row that differs from `others`, or that they lack although they have its block. */
async function refuseOtherwise(
  client: Client,
  kind: Kind,
  places: Places,
  others: string,
  head: number,
): Promise<void> {
  const { file, facts, key, name } = kind;
  const here = facts.map((column) => valueOf("staged", column));
  const there = facts.map((column) => (column === "killed" ? KILLED : valueOf("other", column)));
  const texts = (values: string[]): string => values.map((value) => `${value}::text`).join(", ");
  const { rows } = await client.query<Compared>(
    `select
      staged.line,
      other.line as other_line,
      staged.block,
      other.block is not null as is_known,
      array[${texts(key.map((column) => `staged.${column}`))}] as key,
      array[${texts(here)}] as here,
      array[${texts(there)}] as there
    from ${kind.staged} as staged
    left join ${others} as other on ${sameKey(kind, "other")}
    where case
      when other.block is null then staged.block <= $1
      else (${here.join(", ")}) is distinct from (${there.join(", ")})
    end
    order by staged.line
    limit 1`,
    [head],
  );
  const [found] = rows;
  if (found === undefined) return;
  await refuseTimes(client, places);
  const what = `${places[file](found.line)}: ${name(found.key)}`;
  if (!found.is_known) {
    throw new LoadError(
      `${what} is in block ${found.block} here, but not in the database, whose head is block ${head}; ` +
        "blocks are written whole and in order, so load older data into a new database",
    );
  }
  const where = found.other_line === null ? "the database" : places[file](found.other_line);
  refuseDifference(
    what,
    where,
    facts.map((column, at) => [column, found.there[at], found.here[at]]),
  );
}

const valueOf = (table: string, column: string): string =>
  column.endsWith("_amt") ? `trim_scale(${table}.${column})` : `${table}.${column}`;

/**
 * The `killed` to compare with. It equals the staged value if the staged row has no cancellation, or if
 * the recorded offer has none and the staged one is after the head ($1).
 */
const KILLED = `case
  when staged.killed = 0 or (other.killed = 0 and staged.killed > $1) then staged.killed
  else other.killed
end`;

/** Throws if a staged offer is filled, but its trades leave a part of the lot. */
async function refuseOpenOffers(client: Client, { offers: place }: Places): Promise<void> {
  const { rows } = await client.query<{ line: number; id: number; lot_amt: string }>(
    `select staged.line, staged.id, trim_scale(rest.lot_amt - coalesce(taken.lot_amt, 0)) as lot_amt
    from ingest.own_offer as staged
    join dex_offer as kept on kept.id = staged.id
    join dex_private.offer_left as rest on rest.offer_id = staged.id
    left join (
      select offer_id, sum(lot_amt) as lot_amt
      from ingest.own_trade
      group by offer_id
    ) as taken on taken.offer_id = staged.id
    where staged.filled
      and not kept.filled
      and rest.lot_amt > coalesce(taken.lot_amt, 0)
    order by staged.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: offer ${found.id} is filled here, but has ${found.lot_amt} of its lot left in ` +
      "the database; only trades or a cancellation close a recorded offer",
  );
}

async function cancelKnownOffers(client: Client): Promise<number> {
  const { rowCount } = await client.query(
    `insert into ingest.staged_cancellation (block, offer_id)
    select staged.killed, staged.id
    from ingest.own_offer as staged
    join dex_offer as kept on kept.id = staged.id
    where staged.killed > 0
      and kept.killed = 0`,
  );
  return rowCount ?? 0;
}

async function dropKnown(client: Client, kind: Kind): Promise<number> {
  const { rowCount } = await client.query(
    `delete from ${kind.staged} as staged
    using ${kind.kept} as kept
    where ${sameKey(kind, "kept")}`,
  );
  return rowCount ?? 0;
}
