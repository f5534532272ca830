// Finds declared relations without an index on the referencing side, and foreign keys that hold rows of ingest.
import { readFile } from "node:fs/promises";
import type { Client } from "../connect.ts";
import type { Finding } from "./finding.ts";

const DECLARED = new URL("./declared-relations.sql", import.meta.url);

const INSUFFICIENT_PRIVILEGE = "42501";

interface Declared {
  oid: number;
  isView: boolean;
  name: string;
  declared: string;
  columns: string[];
}

/** The table column behind a column. */
interface Source {
  table: number;
  column: string;
}

/**
 * The relations (foreign keys and @foreignKey tags) whose columns are not the leading columns of an index.
 * For a view, the indexes of the tables behind its columns count.
 */
export async function findUnindexed(db: Client, schemas: string[]): Promise<Finding[]> {
  const { rows } = await db.query<Declared>(await readFile(DECLARED, "utf8"), [schemas]);
  const findings: Finding[] = [];
  for (const relation of rows) {
    await db.query("savepoint before");
    try {
      const finding = await findMissingIndex(db, relation);
      if (finding !== undefined) findings.push(finding);
    } catch (error) {
      // The table has another owner, which is reported as drift.
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
      await db.query("rollback to before");
    }
  }
  return findings;
}

/** Of these a reorganisation deletes rows; of tokens and pairs never. */
export const TAKEN_BACK = ["dex_block", "dex_offer", "dex_pool", "dex_pool_state", "dex_trade"];

/** The foreign keys, in any schema, that refuse a reorganisation. */
export async function findHolding(db: Client): Promise<Finding[]> {
  const { rows } = await db.query<{ name: string; key: string; held: string }>(
    `select
      con.conrelid::regclass::text as name,
      con.conname as key,
      con.confrelid::regclass::text as held
    from pg_constraint as con
    where con.contype = 'f'
      and con.conparentid = 0
      and con.confdeltype in ('a', 'r')
      and con.confrelid = any (
        select to_regclass('public.' || wanted.name)
        from unnest($1::text[]) as wanted (name)
      )
    order by
      name,
      key`,
    [TAKEN_BACK],
  );
  return rows.map(({ name, key, held }) => ({
    check: "relations",
    object: `table ${name}`,
    problem: `its foreign key ${key} keeps rows of ${held}: a reorganisation that takes one back fails, and writing stops`,
    remedy: "Declare it with on delete cascade or on delete set null.",
  }));
}

async function findMissingIndex(db: Client, relation: Declared): Promise<Finding | undefined> {
  const { isView, name, declared, columns } = relation;
  const object = `${isView ? "view" : "table"} ${name}`;
  const sources: (Source | undefined)[] = [];
  for (const column of columns) sources.push(await sourceOf(db, relation, column));
  const computed = columns.filter((_, index) => sources[index] === undefined);
  if (computed.length > 0) {
    return {
      check: "relations",
      object,
      problem: `its ${declared} uses ${computed.join(", ")}, which is not a table column, so no index serves it`,
      remedy: "Select the table's own column in the view, or remove the tag.",
    };
  }
  const known = sources.filter((source) => source !== undefined);
  const [first] = known;
  const isOfOneTable = known.every((source) => source.table === first?.table);
  const names = known.map(({ column }) => column);
  if (first !== undefined && isOfOneTable && (await isIndexed(db, first.table, names))) return;
  const table = first === undefined ? name : await tableName(db, first.table);
  const list = names.join(", ");
  return {
    check: "relations",
    object,
    problem: isOfOneTable
      ? `its ${declared} has no index on ${table} that begins with ${list}`
      : `the columns of its ${declared} come from several tables, so no index serves it`,
    remedy: isOfOneTable
      ? `Create one in a migration: create index concurrently on ${table} (${list});`
      : "Select the columns of one table in the view, or remove the tag.",
  };
}

/** Whether an index begins with these columns, in any order. */
async function isIndexed(db: Client, table: number, columns: string[]): Promise<boolean> {
  // indkey is 0-based, and has 0 for an expression. After the keys it has the included columns. A look-up by a value
  // implies that the column is not null.
  const { rowCount } = await db.query(
    `select
    from pg_index as index
    where index.indrelid = $1
      and index.indisvalid
      and (
        index.indpred is null
        or pg_get_expr(index.indpred, index.indrelid) in (
          select format('(%I IS NOT NULL)', wanted.name)
          from unnest($2::text[]) as wanted (name)
        )
      )
      and index.indnkeyatts >= cardinality($2::text[])
      and array(
        select attribute.attname::text
        from pg_attribute as attribute
        where attribute.attrelid = index.indrelid
          and attribute.attnum = any ((index.indkey::int2[])[0:cardinality($2::text[]) - 1])
      ) @> $2::text[]`,
    [table, columns],
  );
  return rowCount !== 0;
}

/**
 * Finds the table column behind a column. PostgreSQL reports the origin of a query's columns, so this
 * follows the views one by one; undefined for a computed column.
 */
async function sourceOf(
  db: Client,
  relation: Pick<Declared, "oid" | "isView">,
  column: string,
): Promise<Source | undefined> {
  if (!relation.isView) return { table: relation.oid, column };
  const { rows } = await db.query<{ definition: string }>(
    "select pg_get_viewdef($1::oid) as definition",
    [relation.oid],
  );
  const definition = rows[0]?.definition.trim().replace(/;$/, "") ?? "";
  const { fields } = await db.query(`select * from (${definition}) as shown limit 0`);
  const field = fields.find(({ name }) => name === column);
  if (field === undefined || field.tableID === 0) return undefined;
  const { rows: origins } = await db.query<{ isView: boolean; column: string }>(
    `select
      relation.relkind = 'v' as "isView",
      attribute.attname as column
    from pg_class as relation
    join pg_attribute as attribute on attribute.attrelid = relation.oid
    where relation.oid = $1
      and attribute.attnum = $2`,
    [field.tableID, field.columnID],
  );
  const origin = origins[0];
  return origin && sourceOf(db, { oid: field.tableID, isView: origin.isView }, origin.column);
}

async function tableName(db: Client, table: number): Promise<string> {
  const { rows } = await db.query<{ name: string }>("select $1::oid::regclass::text as name", [
    table,
  ]);
  return rows[0]?.name ?? "";
}
