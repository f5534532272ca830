// Takes staged trades over into dex_trade.
import type { Client } from "../connect.ts";
import { inChunks } from "./chunks.ts";
import {
  keepFirst,
  refuseContradictions,
  refuseOtherValues,
  standsTwice,
  type Recorded,
} from "./contradictions.ts";
import { LoadError } from "./load-error.ts";
import type { Merged } from "./merged.ts";
import type { Staged } from "./staging.ts";

const TRADE: Recorded = {
  kind: "trade",
  key: ["tx", "idx"],
  name: ({ tx, idx }) => `trade ${String(tx)}, idx ${String(idx)}`,
};

/** What is recorded of a trade besides (tx, idx), which identify it, and its id. */
const FACTS = [
  "offer_id",
  "pair",
  "maker",
  "taker",
  "lot_gem",
  "lot_amt",
  "bid_gem",
  "bid_amt",
  "block",
  "time",
] as const;

interface Given {
  ids: boolean;
  idxs: boolean;
}

/** Records new trades in the order of (block, idx). Refuses to change any that is there. */
export async function mergeTrades(
  client: Client,
  staged: Staged,
  onRows: (rows: number) => void,
): Promise<Merged> {
  const { rows, place } = staged;
  const given = await columnsGiven(client, staged);
  if (!given.idxs) await countWithinBlocks(client);
  const facts = given.ids ? ["id", ...FACTS] : FACTS;

  // The same trade twice, as in two exports put together, is one trade.
  if (await standsTwice(client, TRADE)) {
    await refuseContradictions(client, place, TRADE, facts);
    await keepFirst(client, TRADE);
  }
  if (given.ids) await refuseRepeatedIds(client, place);
  const newest = await newestTrade(client);
  if (newest !== undefined) {
    await refuseOtherValues(client, place, TRADE, facts);
    if (!given.idxs) await refuseSplitBlocks(client, place);
    await dropKnown(client);
    if (given.ids) await refuseTakenIds(client, place);
    else await refuseOlder(client, place, newest);
  }

  await moveSeriesPast(client, "dex_trade");
  const columns = [...facts, "tx", "idx"].join(", ");
  const added = await inChunks(client, {
    table: "load_trade",
    order: ["block", "idx", "line"],
    rows,
    onRows,
    insert: (chunk) =>
      `insert into dex_trade (${columns})
      select ${columns}
      from ${chunk}`,
  });
  if (given.ids) await moveSeriesPast(client, "pg_temp.load_trade");
  return { added, changed: 0 };
}

async function columnsGiven(client: Client, { rows, place }: Staged): Promise<Given> {
  const { rows: counts } = await client.query<{ column: string; given: number; lacking: number }>(
    `select
      'id' as column,
      count(id)::integer as given,
      min(line) filter (where id is null) as lacking
    from pg_temp.load_trade
    union all
    select
      'idx',
      count(idx)::integer,
      min(line) filter (where idx is null)
    from pg_temp.load_trade`,
  );
  const has = (column: string): boolean => {
    const { given = 0, lacking = 0 } = counts.find((count) => count.column === column) ?? {};
    if (given === 0 || given === rows) return given > 0;
    throw new LoadError(
      `${place(lacking)}, column ${column}: it is empty, and ${given} of ${rows} trades have one: ` +
        "either every trade has one, or none",
    );
  };
  return { ids: has("id"), idxs: has("idx") };
}

async function countWithinBlocks(client: Client): Promise<void> {
  await client.query(
    `update pg_temp.load_trade as staged
    set idx = counted.idx
    from (
      select line, row_number() over (partition by block order by line) - 1 as idx
      from pg_temp.load_trade
    ) as counted
    where staged.line = counted.line`,
  );
}

async function refuseRepeatedIds(client: Client, place: Staged["place"]): Promise<void> {
  const { rows } = await client.query<{ id: string; first: number; line: number }>(
    `select id, min(line) as first, max(line) as line
    from pg_temp.load_trade
    group by id
    having count(*) > 1
    order by 3
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: id ${found.id} is also that of another trade, on line ${found.first}`,
  );
}

interface Newest {
  block: number;
  idx: number;
}

async function newestTrade(client: Client): Promise<Newest | undefined> {
  const { rows } = await client.query<Newest>(
    `select block, idx
    from dex_trade
    order by
      block desc,
      idx desc
    limit 1`,
  );
  return rows[0];
}

// Ordinals count the rows of a block from the file alone. Where the database has trades of the
// block that the file leaves out, they would name other trades than they did, in silence.
async function refuseSplitBlocks(client: Client, place: Staged["place"]): Promise<void> {
  const { rows } = await client.query<{ block: number; line: number }>(
    `select fresh.block, fresh.line
    from (
      select staged.block, min(staged.line) as line
      from pg_temp.load_trade as staged
      where not exists (
        select
        from dex_trade as kept
        where kept.tx = staged.tx
          and kept.idx = staged.idx
      )
      group by staged.block
    ) as fresh
    where exists (
      select
      from dex_trade as kept
      where kept.block = fresh.block
        and not exists (
          select
          from pg_temp.load_trade as staged
          where staged.block = fresh.block
            and staged.tx = kept.tx
            and staged.idx = kept.idx
        )
    )
    order by fresh.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: block ${found.block} has trades in the database that are not in this ` +
      "file, so the place of this one in the block is not known: load whole blocks, or give each " +
      "trade its idx",
  );
}

async function dropKnown(client: Client): Promise<void> {
  await client.query(
    `delete from pg_temp.load_trade as staged
    using dex_trade as kept
    where kept.tx = staged.tx
      and kept.idx = staged.idx`,
  );
}

async function refuseTakenIds(client: Client, place: Staged["place"]): Promise<void> {
  const { rows } = await client.query<{ id: string; line: number; tx: string; idx: number }>(
    `select staged.id, staged.line, kept.tx, kept.idx
    from pg_temp.load_trade as staged
    join dex_trade as kept on kept.id = staged.id
    order by staged.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: id ${found.id} is in the database that of another trade: ` +
      `${found.tx}, idx ${found.idx}`,
  );
}

async function refuseOlder(client: Client, place: Staged["place"], newest: Newest): Promise<void> {
  const { rows } = await client.query<Newest & { line: number }>(
    `select line, block, idx
    from pg_temp.load_trade
    where (block, idx) < ($1, $2)
    order by line
    limit 1`,
    [newest.block, newest.idx],
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: a new trade of block ${found.block}, idx ${found.idx} is older than ` +
      `the newest in the database, block ${newest.block}, idx ${newest.idx}: ids grow with ` +
      "recency, so it needs an id in the file",
  );
}

/** Moves the series of trade ids past the largest in a table. Never back. */
async function moveSeriesPast(client: Client, table: string): Promise<void> {
  await client.query(
    `select setval('dex_trade_id_seq', largest.id)
    from (select max(id) as id from ${table}) as largest
    cross join dex_trade_id_seq as series
    where largest.id >= series.last_value`,
  );
}
