// What PostgreSQL does for a query: which rows it reads, and by which index.
import type { Database } from "../db/connect.ts";

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

/** Runs the statement and tells what it read of the table. */
export async function explain(
  db: Database,
  { text, values = [] }: Statement,
  table: string,
): Promise<Explained> {
  const { rows } = await db.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  const nodes = flatten(rows[0]!["QUERY PLAN"][0].Plan);
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
