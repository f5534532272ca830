// Takes staged offers over into dex_offer.
import type { Client } from "../connect.ts";
import { comparison, describeDifferences, type Compared } from "./differences.ts";
import { inChunks } from "./chunks.ts";
import { LoadError } from "./load-error.ts";
import type { Merged } from "./merged.ts";
import type { Staged } from "./staging.ts";

/** What is recorded of an offer for good. Only its end, `killed` and `filled`, comes later. */
const FACTS = [
  "pair",
  "maker",
  "lot_gem",
  "lot_amt",
  "bid_gem",
  "bid_amt",
  "block",
  "time",
  "tx",
] as const;

/** Records new offers, and the end of those that are there. Refuses to change anything else. */
export async function mergeOffers(
  client: Client,
  { rows, place }: Staged,
  onRows: (rows: number) => void,
): Promise<Merged> {
  await uniteRepeated(client, place);
  await refuseOtherFacts(client, place);
  const { rowCount: changed } = await client.query(
    `update dex_offer as kept
    set
      killed = case when staged.killed = 0 then kept.killed else staged.killed end,
      closed = kept.closed or staged.filled
    from pg_temp.load_offer as staged
    where kept.id = staged.id
      and (
        staged.killed not in (0, kept.killed)
        or staged.filled and not kept.closed
      )`,
  );
  await client.query(
    `delete from pg_temp.load_offer as staged
    using dex_offer as kept
    where kept.id = staged.id`,
  );
  const added = await inChunks(client, {
    table: "load_offer",
    order: ["block", "id", "line"],
    rows,
    onRows,
    insert: (chunk) =>
      `insert into dex_offer (id, killed, filled, ${FACTS.join(", ")})
      select id, killed, filled, ${FACTS.join(", ")}
      from ${chunk}`,
  });
  return { added, changed: changed ?? 0 };
}

// A file that logs an offer's life may name it at its making and again at its end.
async function uniteRepeated(client: Client, place: Staged["place"]): Promise<void> {
  const { rows: repeated } = await client.query(
    `select
    from pg_temp.load_offer
    group by id
    having count(*) > 1
    limit 1`,
  );
  if (repeated.length === 0) return;
  const { differ, values } = comparison("earlier", "later", FACTS);
  const { rows } = await client.query<Compared & { id: number; line: number; first: number }>(
    `select later.id, later.line, earlier.line as first, ${values}
    from (
      select id, min(line) as line
      from pg_temp.load_offer
      group by id
      having count(*) > 1
    ) as repeated
    join pg_temp.load_offer as earlier on earlier.line = repeated.line
    join pg_temp.load_offer as later on later.id = repeated.id
    where ${differ}
    order by later.line
    limit 1`,
  );
  const [found] = rows;
  if (found !== undefined) {
    const differing = describeDifferences(FACTS, found, [`on line ${found.first}`, "here"]);
    throw new LoadError(
      `${place(found.line)}: offer ${found.id} stands there twice with other values: ${differing}`,
    );
  }
  await client.query(
    `update pg_temp.load_offer as staged
    set
      killed = united.killed,
      filled = united.filled
    from (
      select
        id,
        coalesce((array_agg(killed order by line desc) filter (where killed > 0))[1], 0) as killed,
        bool_or(filled) as filled
      from pg_temp.load_offer
      group by id
      having count(*) > 1
    ) as united
    where staged.id = united.id`,
  );
  await client.query(
    `delete from pg_temp.load_offer as later
    using pg_temp.load_offer as earlier
    where earlier.id = later.id
      and earlier.line < later.line`,
  );
}

async function refuseOtherFacts(client: Client, place: Staged["place"]): Promise<void> {
  const { differ, values } = comparison("kept", "staged", FACTS);
  const { rows } = await client.query<Compared & { id: number; line: number }>(
    `select staged.id, staged.line, ${values}
    from pg_temp.load_offer as staged
    join dex_offer as kept on kept.id = staged.id
    where ${differ}
    order by staged.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const differing = describeDifferences(FACTS, found, ["in the database", "here"]);
  throw new LoadError(
    `${place(found.line)}: offer ${found.id} is there already with other values: ${differing}`,
  );
}
