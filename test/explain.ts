// Reads from PostgreSQL's plan how many rows a statement reads, and with which indexes.
import type { Pool, PooledClient } from "../db/connect.ts";

export interface Statement {
  text: string;
  values?: unknown[];
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

export interface Explained {
  /** The number of rows of the table that were read, including filtered rows. */
  rowsRead: number;
  indexes: string[];
  /** Whether the plan has a sequential scan of the table. */
  wholeTable: boolean;
}

/** Runs the statement as `explainPrepared` does, and summarizes the reads of a table. */
export async function explain(
  pool: Pool,
  { text, values = [] }: Statement,
  table: string,
): Promise<Explained> {
  const [row] = await explainPrepared<[{ Plan: PlanNode }]>(
    pool,
    { text, values },
    "analyze, format json",
  );
  return summary(row![0].Plan, table);
}

/**
 * Returns the rows of `explain` with these options for the prepared statement, on a connection with the
 * service's settings.
 */
export async function explainPrepared<Row>(
  pool: Pool,
  { text, values = [] }: Statement,
  options: string,
): Promise<Row[]> {
  const client = await pool.connect();
  try {
    await client.query(`prepare explained as ${text}`);
    const literals = values.map((value) =>
      value === null || value === undefined ? "null" : client.escapeLiteral(asText(value)),
    );
    const given = literals.length === 0 ? "" : `(${literals.join(", ")})`;
    const { rows } = await client.query<{ "QUERY PLAN": Row }>(
      `explain (${options}) execute explained${given}`,
    );
    return rows.map((row) => row["QUERY PLAN"]);
  } finally {
    await client.query("deallocate explained");
    client.release();
  }
}

/** The number of rows that a statement reads of each table, also inside functions, unlike `explain`. */
export async function rowsRead(pool: Pool, text: string): Promise<Partial<Record<string, number>>> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    // The counters include earlier statements that the connection has not reported yet.
    const before = await countRead(client);
    await client.query(text);
    const after = await countRead(client);
    return Object.fromEntries(
      Object.entries(after).map(([table, read]) => [table, read - (before[table] ?? 0)]),
    );
  } finally {
    await client.query("rollback");
    client.release();
  }
}

async function countRead(client: PooledClient): Promise<Record<string, number>> {
  const { rows } = await client.query<{ table: string; read: number }>(
    `select
      relname as table,
      (seq_tup_read + idx_tup_fetch)::integer as read
    from pg_stat_xact_user_tables`,
  );
  return Object.fromEntries(rows.map(({ table, read }) => [table, read]));
}

/** Formats a value as the driver does, for the types that the service's statements use. */
function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  // As PostgreSQL writes an array of texts.
  if (Array.isArray(value)) return `{${value.map((one) => JSON.stringify(one)).join()}}`;
  throw new Error(`cannot quote the value ${JSON.stringify(value)}`);
}

function summary(plan: PlanNode, table: string): Explained {
  const nodes = flatten(plan);
  const scans = nodes.filter((node) => node["Relation Name"] === table);
  const rowsOf = (node: PlanNode): number =>
    (node["Actual Rows"] +
      (node["Rows Removed by Filter"] ?? 0) +
      (node["Rows Removed by Index Recheck"] ?? 0)) *
    node["Actual Loops"];
  return {
    rowsRead: scans.reduce((sum, node) => sum + rowsOf(node), 0),
    indexes: nodes.flatMap((node) => node["Index Name"] ?? []),
    wholeTable: scans.some((node) => node["Node Type"].endsWith("Seq Scan")),
  };
}

const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
