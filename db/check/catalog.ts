// Reads the objects of a database's schemas from its catalogs, with every property that a migration can set.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Database } from "../connect.ts";

export interface CatalogObject {
  /** For example `view`. */
  kind: string;
  /** For example `public.dex_market`. */
  name: string;
  /** Stays the same when the object is renamed, and not when it is dropped and created again. */
  id: string;
  /** The name of the containing object, such as a column's table; null if there is none. */
  partOf: string | null;
  /** Comment, owner, grants, definition and so on; null for a missing one. */
  facts: Record<string, unknown>;
}

const FOLDER = fileURLToPath(new URL("./catalog", import.meta.url));

/** One file for each kind of object, without the columns that its kind lacks; containing objects come first. */
const FILES = [
  ...["schemas", "relations", "types", "functions", "columns", "sequences", "constraints"],
  ...["indexes", "statistics", "triggers", "event-triggers", "rules", "policies", "rights"],
];

/**
 * The objects of these schemas and the rights on the database, without objects of extensions. Lists only
 * grants to the three roles, the owner and PUBLIC; grants to other roles are the site's decision.
 */
export async function readCatalog(db: Database, schemas: string[]): Promise<CatalogObject[]> {
  const found: CatalogObject[] = [];
  for (const file of FILES) {
    const { rows } = await db.query<CatalogObject>(
      `select
        found.kind,
        found.name,
        format('%s %s %s', found.class::oid, found.object, coalesce(found.part, 0)) as id,
        found.part_of as "partOf",
        found.facts || jsonb_build_object(
          'owner', pg_get_userbyid(found.owner),
          'comment', (
            select pg_description.description
            from pg_description
            where pg_description.classoid = found.class
              and pg_description.objoid = found.object
              and pg_description.objsubid = coalesce(found.part, 0)
              and found.name <> 'public'
          ),
          'grants', (
            select jsonb_agg(
              lower(granted.privilege_type) || ' to ' || case
                when granted.grantee = granted.grantor then 'its owner'
                else coalesce(grantee.rolname, 'public')
              end
              order by granted.grantee = granted.grantor, grantee.rolname, granted.privilege_type
            )
            from aclexplode(found.acl) as granted
            left join pg_roles as grantee on grantee.oid = granted.grantee
            where granted.grantee in (0, granted.grantor)
              or grantee.rolname in ('dex_owner', 'dex_writer', 'dex_reader')
          )
        ) as facts
      from (${await readFile(`${FOLDER}/${file}.sql`, "utf8")}) as of_kind
      cross join lateral jsonb_to_record(to_jsonb(of_kind)) as found (
        kind text,
        name text,
        part_of text,
        class regclass,
        object oid,
        part integer,
        within oid,
        owner oid,
        acl aclitem[],
        facts jsonb
      )
      where not exists (
        select
        from pg_depend as dependency
        where dependency.deptype = 'e'
          and (
            (dependency.classid = found.class and dependency.objid = found.object)
            or (dependency.classid = 'pg_class'::regclass and dependency.objid = found.within)
            -- The extension has a composite type, and not the relation of its columns.
            or (
              found.class = 'pg_class'::regclass
              and dependency.classid = 'pg_type'::regclass
              and dependency.objid = (select reltype from pg_class where oid = found.object)
            )
          )
      )
      order by found.name`,
      [schemas],
    );
    found.push(...rows);
  }
  return found;
}
