// Reads the orders that the database's indexes serve. PostGraphile's introspection has neither the
// expressions of an index nor its direction.
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";

/**
 * The columns of each index, by the OID of its table. GraphQL orders by all columns ascending or all
 * descending, so these indexes are left out: partial, invalid, not a b-tree, with mixed directions, with
 * another collation or operator class. So are indexes on a nullable column that is not
 * `coalesce(column, '')`, or `coalesce(column, -1)` of an integer, because a cursor needs that expression: see cursors.ts.
 */
export async function readIndexOrders(
  pgService: GraphileConfig.PgServiceConfiguration,
): Promise<Map<string, string[][]>> {
  const { rows } = await withPgClientFromPgService(
    pgService,
    pgService.pgSettingsForIntrospection ?? null,
    (client) => client.query<{ table: string; columns: string[] }>({ text: SELECT_ORDERS }),
  );
  const orders = new Map<string, string[][]>();
  for (const { table, columns } of rows) {
    orders.set(table, [...(orders.get(table) ?? []), columns]);
  }
  return orders;
}

const SELECT_ORDERS = `
  select
    index.indrelid::text as "table",
    ordered.columns
  from pg_index as index
  join pg_class as indexed on indexed.oid = index.indexrelid
  join pg_am as method on method.oid = indexed.relam
  cross join lateral (
    select
      array_agg(attribute.attname::text order by key.position) as columns,
      count(attribute.attname) as known
    from generate_series(1, index.indnkeyatts) as key (position)
    left join pg_attribute as attribute
      on attribute.attrelid = index.indrelid
      -- These arrays are zero-based.
      and attribute.attcollation = index.indcollation[key.position - 1]
      and case
        when index.indkey[key.position - 1] > 0
          then attribute.attnum = index.indkey[key.position - 1] and attribute.attnotnull
        else attribute.attnum > 0
          and not attribute.attnotnull
          and pg_get_indexdef(index.indexrelid, key.position, false) = case attribute.atttypid
            when 'text'::regtype then format('COALESCE(%I, ''''::text)', attribute.attname)
            when 'integer'::regtype then format('COALESCE(%I, ''-1''::integer)', attribute.attname)
          end
      end
  ) as ordered
  -- System tables have lower OIDs.
  where index.indrelid >= 16384
    and method.amname = 'btree'
    and index.indisvalid
    and index.indisready
    and index.indpred is null
    and ordered.known = index.indnkeyatts
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
