// Takes staged offers over into dex_offer.
import type { Client } from "../connect.ts";
import { inChunks } from "./chunks.ts";
import {
  keepFirst,
  refuseContradictions,
  refuseOtherValues,
  standsTwice,
  type Recorded,
} from "./contradictions.ts";
import type { Merged } from "./merged.ts";
import type { Staged } from "./staging.ts";

const OFFER: Recorded = { kind: "offer", key: ["id"], name: ({ id }) => `offer ${String(id)}` };

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
  await refuseOtherValues(client, place, OFFER, FACTS);
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
  if (!(await standsTwice(client, OFFER))) return;
  await refuseContradictions(client, place, OFFER, FACTS);
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
  await keepFirst(client, OFFER);
}
