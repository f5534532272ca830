// Declares what was loaded complete.
import type { Client } from "../connect.ts";

export interface Block {
  block: number;
  time: Date;
}

/** The latest block among the staged trades and offers, or undefined where there are none. */
export async function lastStagedBlock(client: Client): Promise<Block | undefined> {
  const { rows } = await client.query<Block>(
    `select block, time
    from (
      select block, time from pg_temp.load_trade
      union all
      select block, time from pg_temp.load_offer
    ) as every_row
    order by block desc
    limit 1`,
  );
  return rows[0];
}

/** Moves the head forward to this block; says whether it moved. */
export async function moveHead(client: Client, { block, time }: Block): Promise<boolean> {
  const { rowCount: moved } = await client.query(
    `update dex_head
    set
      block = $1,
      time = $2
    where block < $1`,
    [block, time],
  );
  if (moved === 1) return true;
  const { rowCount: declared } = await client.query(
    `insert into dex_head (block, time)
    select $1, $2
    where not exists (select from dex_head)`,
    [block, time],
  );
  return declared === 1;
}
