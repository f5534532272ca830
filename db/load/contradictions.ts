// Refuses rows that contradict each other or the database; the messages name both places.
import type { Client } from "../connect.ts";
import { LoadError } from "./load-error.ts";
import type { Places } from "./staging.ts";

type Value = string | number | boolean | null | undefined;

/** Throws if two rows of the same thing differ in a column. */
export function refuseDifference(
  what: string,
  where: string,
  columns: readonly (readonly [column: string, there: Value, here: Value])[],
): void {
  const differing = columns.filter(([, there, here]) => there !== here);
  if (differing.length === 0) return;
  const listed = (side: 1 | 2): string =>
    differing.map((values) => `${values[0]} ${values[side] ?? "empty"}`).join(", ");
  throw new LoadError(
    `${what} has ${listed(2)} here, but ${listed(1)} in ${where}; both must have the same values`,
  );
}

interface BlockTime {
  /** Null for a row of the database. */
  file: "offers" | "trades" | null;
  line: number;
  block: number;
  time: string;
}

/** Throws if a staged block has two times, or a time before that of an earlier block. */
export async function refuseTimes(client: Client, places: Places): Promise<void> {
  const { rows } = await client.query<{ here: BlockTime; there: BlockTime }>(
    `with staged as (
      select 'offers' as file, line, block, time
      from ingest.own_offer
      union all
      select 'trades', line, block, time
      from ingest.own_trade
    ),
    block_time as (
      select *
      from staged
      union all
      select null, null, number, time
      from dex_block
      where number >= (select min(block) from staged)
        or number = (select block from dex_head)
    )
    select here, there
    from (
      select
        block,
        time,
        to_jsonb(block_time) as here,
        lag(block) over in_order as block_before,
        lag(time) over in_order as time_before,
        lag(to_jsonb(block_time)) over in_order as there
      from block_time
      window in_order as (order by block, file nulls first, line)
    ) as row
    where time < time_before
      or (block = block_before and time <> time_before)
    order by block
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const { here, there } = found;
  const place = ({ file, line }: BlockTime): string =>
    file === null ? "the database" : places[file](line);
  if (here.block === there.block) {
    throw new LoadError(
      `${place(here)}: block ${here.block} is at ${here.time} here, but at ${there.time} in ` +
        `${place(there)}; a block has one time`,
    );
  }
  const [row, order, other] =
    here.file === null ? [there, "later", here] : [here, "earlier", there];
  throw new LoadError(
    `${place(row)}: block ${row.block} is at ${row.time} here, but the ${order} block ${other.block} ` +
      `is at ${other.time} in ${place(other)}; a block is never before an earlier block`,
  );
}

interface Numbered {
  line: number;
  id: string;
  line_before: number | null;
  id_before: string;
}

/** Throws unless staged trade ids increase with block and idx, above the highest id ever used. */
export async function refuseIds(client: Client, { trades: place }: Places): Promise<void> {
  const { rows } = await client.query<Numbered>(
    `select line, id, line_before, id_before
    from (
      select
        line,
        id,
        lag(line) over in_order as line_before,
        coalesce(
          lag(id) over in_order,
          (select last_trade from dex_private.write_state)
        ) as id_before
      from ingest.own_trade
      window in_order as (order by block, idx, line)
    ) as trade
    where id <= id_before
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const { line, id, line_before: before, id_before } = found;
  throw new LoadError(
    `${place(line)}: id ${id} here is not greater than ` +
      (before === null
        ? `${id_before}, the highest id ever used in the database`
        : `${id_before} in ${place(before)}`) +
      "; ids increase with block and idx",
  );
}
