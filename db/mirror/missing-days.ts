// Which days of an origin's manifest a database lacks.
import type { Client } from "../connect.ts";
import type { PlannedDay } from "../export/planned-days.ts";
import { MirrorError } from "./mirror-error.ts";

/** The days that the database lacks. Throws a MirrorError that names the first day whose digest is another here. */
export async function missingDays(
  client: Client,
  planned: readonly PlannedDay[],
): Promise<PlannedDay[]> {
  const { rows } = await client.query<{ at: string; here: string | null }>(
    `select
      listed.at - 1 as at,
      dex_block_digest(block) as here
    from unnest($1::integer[], $2::text[]) with ordinality as listed (number, digest, at)
    cross join (
      select max(recorded.number) as number
      from dex_block as recorded
    ) as head
    left join dex_block as block on block.number = listed.number
    where listed.number <= head.number
      and dex_block_digest(block) is distinct from listed.digest
    order by listed.at
    limit 1`,
    [planned.map(({ lastBlock }) => lastBlock), planned.map(({ digest }) => digest)],
  );
  const [different] = rows;
  const day = different === undefined ? undefined : planned[Number(different.at)];
  if (day !== undefined) {
    throw new MirrorError(
      `${day.day}: at its last block, ${day.lastBlock}, this database has the digest ${different?.here ?? "none"}, and the origin ${day.digest}. They have different facts: nothing can be added`,
    );
  }
  const { rows: heads } = await client.query<{ number: number | null }>(
    "select max(number) as number from dex_block",
  );
  const head = heads[0]?.number ?? -1;
  return planned.filter(({ lastBlock }) => lastBlock > head);
}
