// The rows that differ from what they should be: up to 100 of each rule and table, and the number of all.
import type { Client } from "../connect.ts";

/** A row that differs from what it should be. */
export interface Difference {
  /** The table and the key of the row. */
  row: string;
  /** The row in the database, as JSON; null if it is missing. */
  kept: string | null;
  /** The correct row, as JSON, or in words what it should be; null if there should be none. */
  right: string | null;
}

/** Maximum number of differences reported per table or rule. */
const MAX_SHOWN = 100;

interface Statement {
  text: string;
  values?: unknown[];
  name?: string;
}

export class Differences {
  readonly shown: Difference[] = [];
  total = 0;

  /** Adds what a statement with the columns of a Difference returns, in its order. */
  async add(client: Client, { text, ...others }: Statement): Promise<void> {
    const { rows } = await client.query<Difference & { total: number }>({
      ...others,
      text: `select *, (count(*) over ())::integer as total from (${text}) as differing limit ${MAX_SHOWN}`,
    });
    this.total += rows[0]?.total ?? 0;
    this.shown.push(...rows.map(({ row, kept, right }) => ({ row, kept, right })));
  }
}
