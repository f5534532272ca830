// Refuses two records of one thing that say different things of it: on two lines of what is
// loaded, or on one of them and in the database.
import type { Client } from "../connect.ts";
import { comparison, describeDifferences, type Compared } from "./differences.ts";
import { LoadError } from "./load-error.ts";
import type { Staged } from "./staging.ts";

/** What a staged table records, and by what a record is known. */
export interface Recorded {
  /** The table without its prefix: `trade` is staged in pg_temp.load_trade, kept in dex_trade. */
  kind: "token" | "offer" | "trade";
  key: readonly string[];
  /** A thing by its key, as a message names it. */
  name(key: Record<string, unknown>): string;
}

interface Found extends Compared {
  line: number;
  [key: string]: unknown;
}

const columnsOf = (table: string, { key }: Recorded): string =>
  key.map((column) => `${table}.${column}`).join(", ");

const sameKey = (one: string, other: string, { key }: Recorded): string =>
  key.map((column) => `${one}.${column} = ${other}.${column}`).join(" and ");

/** Whether anything stands on more than one line. */
export async function standsTwice(client: Client, { kind, key }: Recorded): Promise<boolean> {
  const { rows } = await client.query(
    `select
    from pg_temp.load_${kind}
    group by ${key.join(", ")}
    having count(*) > 1
    limit 1`,
  );
  return rows.length > 0;
}

/** Throws a LoadError for the first line that differs in these columns from an earlier one. */
export async function refuseContradictions(
  client: Client,
  place: Staged["place"],
  recorded: Recorded,
  columns: readonly string[],
): Promise<void> {
  const { kind, key } = recorded;
  const { differ, values } = comparison("earlier", "later", columns);
  const { rows } = await client.query<Found & { first: number }>(
    `select ${columnsOf("later", recorded)}, later.line, earlier.line as first, ${values}
    from (
      select ${key.join(", ")}, min(line) as line
      from pg_temp.load_${kind}
      group by ${key.join(", ")}
      having count(*) > 1
    ) as repeated
    join pg_temp.load_${kind} as earlier on earlier.line = repeated.line
    join pg_temp.load_${kind} as later on ${sameKey("later", "repeated", recorded)}
    where ${differ}
    order by later.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const differing = describeDifferences(columns, found, [`on line ${found.first}`, "here"]);
  throw new LoadError(
    `${place(found.line)}: ${recorded.name(found)} stands there twice with other values: ${differing}`,
  );
}

/** Takes every line of a thing away but its first. */
export async function keepFirst(client: Client, recorded: Recorded): Promise<void> {
  await client.query(
    `delete from pg_temp.load_${recorded.kind} as later
    using pg_temp.load_${recorded.kind} as earlier
    where ${sameKey("earlier", "later", recorded)}
      and earlier.line < later.line`,
  );
}

/** Throws a LoadError for the first line that differs in these columns from what is kept. */
export async function refuseOtherValues(
  client: Client,
  place: Staged["place"],
  recorded: Recorded,
  columns: readonly string[],
): Promise<void> {
  const { differ, values } = comparison("kept", "staged", columns);
  const { rows } = await client.query<Found>(
    `select ${columnsOf("staged", recorded)}, staged.line, ${values}
    from pg_temp.load_${recorded.kind} as staged
    join dex_${recorded.kind} as kept on ${sameKey("kept", "staged", recorded)}
    where ${differ}
    order by staged.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const differing = describeDifferences(columns, found, ["in the database", "here"]);
  throw new LoadError(
    `${place(found.line)}: ${recorded.name(found)} is there already with other values: ${differing}`,
  );
}
