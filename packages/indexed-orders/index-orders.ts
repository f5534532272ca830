// Reads the orders and conditions that the database's indexes serve. PostGraphile's introspection has neither the
// expressions of an index nor its direction.
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";

/** The columns of the indexes of a table. */
export interface TableIndexes {
  /** Of those that serve an order. */
  ordered: string[][];
  /** Of those that do not, since they have a nullable column as it is. They serve equalities of single values. */
  nullable: string[][];
}

/**
 * The columns of each index, by the OID of its table. GraphQL orders by all columns ascending or all
 * descending, so these indexes are left out: partial, invalid, not a b-tree, with mixed directions, with
 * another collation or operator class. An order needs a nullable column as `coalesce(column, '')`, or as
 * `coalesce(column, -1)` of an integer, because a cursor needs that expression: see cursors.ts.
 */
export async function readIndexes(
  pgService: GraphileConfig.PgServiceConfiguration,
): Promise<Map<string, TableIndexes>> {
  const { rows } = await withPgClientFromPgService(
    pgService,
    pgService.pgSettingsForIntrospection ?? null,
    (client) => client.query<IndexRow>({ text: SELECT_INDEXES }),
  );
  const ofTables = new Map<string, TableIndexes>();
  for (const { table, columns, ordered } of rows) {
    const indexes = ofTables.get(table) ?? { ordered: [], nullable: [] };
    ofTables.set(table, indexes);
    (ordered ? indexes.ordered : indexes.nullable).push(columns);
  }
  return ofTables;
}

interface IndexRow {
  table: string;
  columns: string[];
  ordered: boolean;
}

const SELECT_INDEXES = `
  select
    index.indrelid::text as "table",
    keyed.columns,
    keyed.ordered
  from pg_index as index
  join pg_class as indexed on indexed.oid = index.indexrelid
  join pg_am as method on method.oid = indexed.relam
  cross join lateral (
    select
      array_agg(attribute.attname::text order by key.position) as columns,
      count(attribute.attname) as known,
      bool_and(attribute.attnotnull or index.indkey[key.position - 1] = 0) as ordered
    from generate_series(1, index.indnkeyatts) as key (position)
    left join pg_attribute as attribute
      on attribute.attrelid = index.indrelid
      -- These arrays are zero-based.
      and attribute.attcollation = index.indcollation[key.position - 1]
      and case
        when index.indkey[key.position - 1] > 0
          then attribute.attnum = index.indkey[key.position - 1]
        else attribute.attnum > 0
          and not attribute.attnotnull
          and pg_get_indexdef(index.indexrelid, key.position, false) = case attribute.atttypid
            when 'text'::regtype then format('COALESCE(%I, ''''::text)', attribute.attname)
            when 'integer'::regtype then format('COALESCE(%I, ''-1''::integer)', attribute.attname)
          end
      end
  ) as keyed
  -- System tables have lower OIDs.
  where index.indrelid >= 16384
    and method.amname = 'btree'
    and index.indisvalid
    and index.indisready
    and index.indpred is null
    and keyed.known = index.indnkeyatts
    -- All ascending, or all descending with nulls first: each is the other read backwards.
    and (
      0 = all (index.indoption::int2[])
      or 3 = all (index.indoption::int2[])
    )
    and not exists (
      select
      from pg_opclass as class
      where class.oid = any (index.indclass::oid[])
        and not class.opcdefault
    )
`;
