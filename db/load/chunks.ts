// Inserts what is staged chunk by chunk, in order, so that progress shows and no statement has to
// keep a whole history for its triggers.
import type { Client } from "../connect.ts";

const CHUNK_ROWS = 20_000;

interface Chunks {
  /** The staging table. */
  table: string;
  /** The columns by which its rows go in; together they are unique. */
  order: readonly string[];
  /** How many rows were staged, or more. */
  rows: number;
  /** The statement that inserts from this chunk, a table expression in order. */
  insert: (chunk: string) => string;
  /** Hears how many rows are in. */
  onRows: (rows: number) => void;
}

/** Inserts every staged row in the order given: how many there were. */
export async function inChunks(
  client: Client,
  { table, order, rows, insert, onRows }: Chunks,
): Promise<number> {
  const ordered = order.join(", ");
  if (rows <= CHUNK_ROWS) {
    const { rowCount } = await client.query(
      insert(`(select * from pg_temp.${table} order by ${ordered}) as chunk`),
    );
    onRows(rowCount ?? 0);
    return rowCount ?? 0;
  }

  await client.query(
    `create index if not exists ${table}_order_idx on pg_temp.${table} (${ordered})`,
  );
  const parameters = (first: number): string =>
    order.map((_column, at) => `$${first + at}::integer`).join(", ");
  const after = parameters(1);
  const upTo = parameters(order.length + 1);
  let inserted = 0;
  let last = order.map(() => -1);
  for (;;) {
    const { rows: found } = await client.query<Record<string, number>>(
      `select ${ordered}
      from (
        select ${ordered}
        from pg_temp.${table}
        where (${ordered}) > (${after})
        order by ${ordered}
        limit ${CHUNK_ROWS}
      ) as chunk
      order by ${order.map((column) => `${column} desc`).join(", ")}
      limit 1`,
      last,
    );
    const [end] = found;
    if (end === undefined) return inserted;
    const next = order.map((column) => end[column] ?? -1);
    const { rowCount } = await client.query(
      insert(
        `(
          select *
          from pg_temp.${table}
          where (${ordered}) > (${after})
            and (${ordered}) <= (${upTo})
          order by ${ordered}
        ) as chunk`,
      ),
      [...last, ...next],
    );
    inserted += rowCount ?? 0;
    onRows(inserted);
    last = next;
  }
}
