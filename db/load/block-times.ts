// Holds that a block has one time, in what is loaded and in what is there.
import type { Client } from "../connect.ts";
import { LoadError } from "./load-error.ts";

interface Disagreement {
  block: number;
  one: string;
  other: string;
}

/** Refuses rows of one block with different times: figures by time and by block would disagree. */
export async function refuseTwoTimes(client: Client): Promise<void> {
  const { rows } = await client.query<Disagreement>(
    `with staged as (
      select block, min(time) as earliest, max(time) as latest
      from (
        select block, time from pg_temp.load_trade
        union all
        select block, time from pg_temp.load_offer
      ) as every_row
      group by block
    ),
    span as (
      select min(block) as first_block, max(block) as last_block
      from staged
    ),
    kept as (
      select distinct trade.block, trade.time
      from dex_trade as trade
      cross join span
      where trade.block between span.first_block and span.last_block
      union
      select distinct offer.block, offer.time
      from dex_offer as offer
      cross join span
      where offer.block between span.first_block and span.last_block
      union
      select block, time
      from dex_head
    )
    select block, earliest::text as one, latest::text as other
    from staged
    where earliest <> latest
    union all
    select staged.block, kept.time::text, staged.latest::text
    from staged
    join kept on kept.block = staged.block
    where kept.time <> staged.latest
    order by block
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `block ${found.block} is given two times, ${found.one} and ${found.other}, by these files or ` +
      "by them and the database: a block has one time",
  );
}
