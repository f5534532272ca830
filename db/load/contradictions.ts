// Refuses rows that contradict one another or the database, and names both places.
import type { Client } from "../connect.ts";
import { LoadError } from "./load-error.ts";
import type { Places } from "./staging.ts";

type Value = string | number | boolean | null | undefined;

/** Throws where what stands there and what stands here differ in a column. */
export function refuseDifference(
  what: string,
  where: string,
  columns: readonly (readonly [column: string, there: Value, here: Value])[],
): void {
  const differing = columns
    .filter(([, there, here]) => there !== here)
    .map(
      ([column, there, here]) => `${column} is ${there ?? "empty"} there, ${here ?? "empty"} here`,
    );
  if (differing.length === 0) return;
  throw new LoadError(`${what} stands in ${where} with other values: ${differing.join("; ")}`);
}

interface Told {
  file: "offers" | "trades" | null;
  line: number;
  block: number;
  time: string;
}

/** Throws where a block of what is staged has two times, or one before an earlier block's. */
export async function refuseTimes(client: Client, places: Places): Promise<void> {
  const { rows } = await client.query<{ here: Told; there: Told }>(
    `with staged as (
      select 'offers' as file, line, block, time
      from ingest.staged_offer
      union all
      select 'trades', line, block, time
      from ingest.staged_trade
    ),
    told as (
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
        to_jsonb(told) as here,
        lag(block) over in_order as block_before,
        lag(time) over in_order as time_before,
        lag(to_jsonb(told)) over in_order as there
      from told
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
  const place = ({ file, line }: Told): string =>
    file === null ? "the database" : places[file](line);
  if (here.block === there.block) {
    throw new LoadError(
      `${place(here)}: block ${here.block} is at ${here.time} here, but at ${there.time} in ` +
        `${place(there)}; a block has one time`,
    );
  }
  const [row, order, other] = here.file === null ? [there, "after", here] : [here, "before", there];
  throw new LoadError(
    `${place(row)}: block ${row.block} is at ${row.time} here, ${order} block ${other.block} at ` +
      `${other.time} in ${place(other)}; a later block has no earlier time`,
  );
}

interface Numbered {
  line: number;
  id: string;
  line_before: number | null;
  id_before: string;
}

/** Throws where the ids of what is staged do not grow with block and idx, from the highest given on. */
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
      from ingest.staged_trade
      window in_order as (order by block, idx, line)
    ) as trade
    where id <= id_before
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const { line, id, line_before: before, id_before } = found;
  throw new LoadError(
    `${place(line)}: id ${id} does not follow on ` +
      (before === null
        ? `${id_before}, the highest that was ever given in the database`
        : `${id_before} in ${place(before)}`) +
      "; ids grow with block and idx",
  );
}
