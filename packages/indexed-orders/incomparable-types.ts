// Reads which types PostgreSQL cannot compare: a column of one has neither an order nor an equality.
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";

/** OIDs of types. */
export interface IncomparableTypes {
  unordered: ReadonlySet<string>;
  /** They can be neither sorted nor hashed. */
  unequal: ReadonlySet<string>;
}

export async function readIncomparableTypes(
  pgService: GraphileConfig.PgServiceConfiguration,
): Promise<IncomparableTypes> {
  const { rows } = await withPgClientFromPgService(
    pgService,
    pgService.pgSettingsForIntrospection ?? null,
    (client) => client.query<{ type: string; methods: string[] }>({ text: SELECT_LACKING }),
  );
  const typesOf = (lacking: readonly { type: string }[]) =>
    new Set(lacking.map(({ type }) => type));
  return {
    unordered: typesOf(rows.filter(({ methods }) => methods.includes("btree"))),
    unequal: typesOf(rows.filter(({ methods }) => methods.length === 2)),
  };
}

// Of enums and ranges each can be compared.
const SELECT_LACKING = `
  with recursive part as (
    select
      oid as whole,
      typbasetype as type
    from pg_type
    where typtype = 'd'
    union all
    select
      oid,
      typelem
    from pg_type
    where typelem > 0
      and typlen = -1
    union all
    select
      composite.oid,
      attribute.atttypid
    from pg_type as composite
    join pg_attribute as attribute on attribute.attrelid = composite.typrelid
    where composite.typtype = 'c'
      and attribute.attnum > 0
      and not attribute.attisdropped
  ),
  lacking as (
    select
      base.oid as type,
      method.oid as method
    from pg_type as base
    join pg_am as method on method.amname in ('btree', 'hash')
    where base.typtype = 'b'
      and not exists (
        select
        from part
        where part.whole = base.oid
      )
      and not exists (
        select
        from pg_opclass as class
        where class.opcmethod = method.oid
          and class.opcdefault
          and (
            class.opcintype = base.oid
            -- As a varchar is compared as a text.
            or class.opcintype in (
              select casttarget
              from pg_cast
              where castsource = base.oid
                and castmethod = 'b'
                and castcontext = 'i'
            )
          )
      )
    union
    select
      part.whole,
      lacking.method
    from lacking
    join part on part.type = lacking.type
  )
  select
    lacking.type::text as type,
    array_agg(method.amname::text) as methods
  from lacking
  join pg_am as method on method.oid = lacking.method
  group by lacking.type
`;
