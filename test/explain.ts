// What PostgreSQL does for a query: which rows it reads, and by which index.
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
  /** How many rows of the table were read, those thrown away included. */
  rowsRead: number;
  /** The indexes that were used. */
  indexes: string[];
  /** Whether the table was read from end to end. */
  wholeTable: boolean;
}

/**
 * Runs the statement, prepared as the service has it and on a connection with the service's settings,
 * and tells what it read of the table.
 */
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
 * What `explain` says with these options, a row each, of the statement prepared as the service has
 * it and on a connection with the service's settings.
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

/** How many rows of each table a statement reads, also where functions do, which `explain` does not see. */
export async function rowsRead(pool: Pool, text: string): Promise<Partial<Record<string, number>>> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    // PostgreSQL counts what the connection did before as well, until it has told the others of it.
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

/** A value as the driver would send it; the service's statements have no others. */
function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Error(`a value that this cannot quote: ${JSON.stringify(value)}`);
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
