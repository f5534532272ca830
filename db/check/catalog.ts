// Reads the objects of a database's schemas from its catalogs, with every property that a migration can set.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Database } from "../connect.ts";

export interface CatalogObject {
  /** For example `view`. */
  kind: string;
  /** For example `public.dex_market`. */
  name: string;
  /** The name of the containing object, such as a column's table; null if there is none. */
  partOf: string | null;
  /** Comment, owner, grants, definition and so on; null for a missing one. */
  facts: Record<string, unknown>;
}

const FOLDER = fileURLToPath(new URL("./catalog", import.meta.url));

/** One file for each kind of object; containing objects come first. */
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
        found.part_of as "partOf",
        found.facts || jsonb_build_object(
          'owner', pg_get_userbyid(found.owner),
          'comment', (
            select pg_description.description
            from pg_description
            where pg_description.classoid = found.class
              and pg_description.objoid = found.object
              and pg_description.objsubid = found.part
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
      from (${await readFile(`${FOLDER}/${file}.sql`, "utf8")}) as found
      where not exists (
        select
        from pg_depend as dependency
        where dependency.deptype = 'e'
          and (
            (dependency.classid = found.class and dependency.objid = found.object)
            or (dependency.classid = 'pg_class'::regclass and dependency.objid = found.within)
          )
      )
      order by found.name`,
      [schemas],
    );
    found.push(...rows);
  }
  return found;
}
