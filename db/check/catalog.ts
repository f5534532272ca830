// What a database's catalogs say of its schemas: each object with all that a migration can say of it.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Database } from "../connect.ts";

/** Something that a migration makes, and what there is to know of it. */
export interface CatalogObject {
  /** Such as `view`. */
  kind: string;
  /** Such as `public.dex_market`. */
  name: string;
  /** The name of what it is a part of, such as a column's table; null where it stands by itself. */
  partOf: string | null;
  /** Its comment, owner, grants, definition and so on; null where it has none. */
  facts: Record<string, unknown>;
}

const FOLDER = fileURLToPath(new URL("./catalog", import.meta.url));

/** The kinds of objects, a file each; what others are part of comes first. */
const FILES = [
  ...["schemas", "relations", "types", "functions", "columns", "sequences", "constraints"],
  ...["indexes", "statistics", "triggers", "event-triggers", "rules", "policies", "rights"],
];

/**
 * The objects of these schemas, and what the roles may do with the database; without what belongs to
 * an extension. Of the grants, those to the three roles, to the owner and to everybody: whom else
 * somebody lets read is theirs to decide.
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
