// Draws the schema from the catalog as Mermaid in Markdown, which GitHub shows as pictures.
import { parseSmartComment } from "pg-introspection";
import type { Database } from "../../db/connect.ts";

interface Column {
  name: string;
  type: string;
  notNull: boolean;
  comment: string | null;
}

interface Relation {
  schema: string;
  name: string;
  /** `r` is a table, `v` a view, as in pg_class. */
  kind: "r" | "v";
  comment: string | null;
  columns: Column[];
  primaryKey: string[];
  uniques: string[][];
}

interface Link {
  from: string;
  columns: string[];
  to: string;
  /** A foreign key; else a smart tag says so, and the other row may be missing. */
  isEnforced: boolean;
  fieldName: string;
}

/** The whole page. */
export async function drawSchema(db: Database): Promise<string> {
  const relations = await findRelations(db);
  const published = relations.filter(({ schema }) => schema === "public");
  const kept = relations.filter(({ schema, kind }) => schema !== "public" && kind === "r");
  const routines = await findRoutines(db);
  const links = [...(await findForeignKeys(db)), ...published.flatMap(declaredLinks)].sort(byEnds);
  return `# The schema as a picture

Find here what each table and view has and refers to. \`npm run generate -- picture\` draws this page from the catalog of a database that has every committed
migration; a test holds it to that.

## What is published

Every table and view of \`public\`, as GraphQL and REST read them. A line drawn through is a foreign key.
A dotted one is declared by a smart tag and not enforced, so the row that it leads to may be missing.
It bears the name of its field in GraphQL.

${fenced(["erDiagram", ...links.map((link) => linkLine(link, relations)), ...published.flatMap((relation) => entity(relation, links))])}

${published.map((relation) => `- \`${relation.name}\`, a ${KINDS[relation.kind]}: ${described(relation.comment)}`).join("\n")}

## What is kept beside it

The tables of \`dex_private\`, which the functions below keep.

${fenced(["erDiagram", ...kept.flatMap((relation) => entity(relation, []))])}

${kept.map((relation) => `- \`${relation.name}\`: ${described(relation.comment)}`).join("\n")}

## Which view reads what

From a table or a view to the views that read it. Those of \`public\` are drawn with a heavy line.

${fenced(flowchart(relations, await findSources(db)))}

## What writes

Nothing writes but these functions of \`ingest\`: each by itself, or by what it calls. No table has a
trigger.

| function | what it does | what it writes |
| --- | --- | --- |
${routines
  .filter((routine) => routine.isDoor && writtenBy(routine, routines).size > 0)
  .map((routine) => doorRow(routine, routines))
  .join("\n")}
`;
}

const KINDS = { r: "table", v: "view" };

async function findRelations(db: Database): Promise<Relation[]> {
  const { rows } = await db.query<Relation>(
    `select
      namespace.nspname as schema,
      class.relname as name,
      class.relkind as kind,
      obj_description(class.oid, 'pg_class') as comment,
      (
        select json_agg(
          json_build_object(
            'name', attribute.attname,
            'type', format_type(attribute.atttypid, attribute.atttypmod),
            'notNull', attribute.attnotnull,
            'comment', col_description(class.oid, attribute.attnum)
          )
          order by attribute.attnum
        )
        from pg_attribute as attribute
        where attribute.attrelid = class.oid
          and attribute.attnum > 0
          and not attribute.attisdropped
      ) as columns,
      coalesce(keys.columns -> 'p' -> 0, '[]') as "primaryKey",
      coalesce(keys.columns -> 'u', '[]') as uniques
    from pg_class as class
    join pg_namespace as namespace on namespace.oid = class.relnamespace
    left join lateral (
      select json_object_agg(keyed.contype, keyed.columns) as columns
      from (
        select
          constraint_.contype,
          json_agg(
            (
              select json_agg(attribute.attname order by key.place)
              from unnest(constraint_.conkey) with ordinality as key (attnum, place)
              join pg_attribute as attribute
                on attribute.attrelid = class.oid
                and attribute.attnum = key.attnum
            )
            order by constraint_.conname collate "C"
          ) as columns
        from pg_constraint as constraint_
        where constraint_.conrelid = class.oid
          and constraint_.contype in ('p', 'u')
        group by constraint_.contype
      ) as keyed
    ) as keys on true
    where namespace.nspname in ('public', 'dex_private')
      and class.relkind in ('r', 'v')
    order by
      namespace.nspname collate "C" desc,
      class.relname collate "C"`,
  );
  return rows.map(withTags);
}

/** A view has its keys and what is not null from smart tags. */
function withTags(relation: Relation): Relation {
  const tags = tagsOf(relation.comment);
  const [primaryKey] = tags("primaryKey").map(names);
  return {
    ...relation,
    columns: relation.columns.map((column) => ({
      ...column,
      notNull: column.notNull || tagsOf(column.comment)("notNull").length > 0,
    })),
    primaryKey: primaryKey ?? relation.primaryKey,
    uniques: [...relation.uniques, ...tags("unique").map(names)],
  };
}

const names = (list: string): string[] => list.split(",").map((name) => name.trim());

/** What reads the tags of this comment: the values of each, an empty one where it has none. */
function tagsOf(comment: string | null): (tag: string) => string[] {
  const { tags } = parseSmartComment(comment ?? undefined);
  return (tag) => [tags[tag] ?? []].flat().map((value) => (value === true ? "" : value));
}

const described = (comment: string | null): string =>
  (parseSmartComment(comment ?? undefined).description ?? "").replaceAll("\n", " ");

async function findForeignKeys(db: Database): Promise<Link[]> {
  const { rows } = await db.query<Omit<Link, "fieldName"> & { comment: string | null }>(
    `select
      class.relname as from,
      referenced.relname as to,
      true as "isEnforced",
      obj_description(constraint_.oid, 'pg_constraint') as comment,
      (
        select json_agg(attribute.attname order by key.place)
        from unnest(constraint_.conkey) with ordinality as key (attnum, place)
        join pg_attribute as attribute
          on attribute.attrelid = class.oid
          and attribute.attnum = key.attnum
      ) as columns
    from pg_constraint as constraint_
    join pg_class as class on class.oid = constraint_.conrelid
    join pg_class as referenced on referenced.oid = constraint_.confrelid
    where constraint_.contype = 'f'
      and class.relnamespace = 'public'::regnamespace`,
  );
  return rows.map(({ comment, ...link }) => ({
    ...link,
    fieldName: tagsOf(comment)("fieldName")[0] ?? "",
  }));
}

/** `(offer_id) references dex_offer (id)|@fieldName offer|@foreignFieldName trades` */
const FOREIGN_KEY =
  /^\((?<columns>[^)]+)\) references (?<to>\w+)[^|]*(?:\|@fieldName (?<field>\w+))?/;

function declaredLinks({ name, comment }: Relation): Link[] {
  return tagsOf(comment)("foreignKey").map((tag) => {
    const { columns, to, field } = FOREIGN_KEY.exec(tag)?.groups ?? {};
    if (columns === undefined || to === undefined) {
      throw new Error(`a @foreignKey of ${name} that this cannot read: ${tag}`);
    }
    return { from: name, columns: names(columns), to, isEnforced: false, fieldName: field ?? "" };
  });
}

const byEnds = (one: Link, other: Link): number => (endsOf(one) < endsOf(other) ? -1 : 1);
const endsOf = ({ from, to, columns }: Link): string => [from, to, ...columns].join();

function linkLine(link: Link, relations: Relation[]): string {
  const from = relations.find(({ name }) => name === link.from);
  const isOne = [from?.primaryKey ?? [], ...(from?.uniques ?? [])].some(
    (key) => key.length > 0 && key.every((column) => link.columns.includes(column)),
  );
  const isSure =
    link.isEnforced &&
    from?.columns.every(({ name, notNull }) => notNull || !link.columns.includes(name));
  const [to, line, by] = [isSure ? "||" : "|o", link.isEnforced ? "--" : "..", isOne ? "o|" : "o{"];
  return `  ${link.to} ${to}${line}${by} ${link.from} : "${link.fieldName}"`;
}

function entity({ name, columns, primaryKey, uniques }: Relation, links: Link[]): string[] {
  const attributes = columns.map((column) => {
    const marks = [
      primaryKey.includes(column.name) ? "PK" : "",
      links.some(({ from, columns: ours }) => from === name && ours.includes(column.name))
        ? "FK"
        : "",
      uniques.some((key) => key.length === 1 && key[0] === column.name) ? "UK" : "",
    ].filter(Boolean);
    const remarks = [
      column.notNull ? "" : "may be null",
      tagsOf(column.comment)("behavior").includes("-*") ? "not published" : "",
    ].filter(Boolean);
    const parts = [
      column.type.replace("timestamp with time zone", "timestamptz").replaceAll(" ", "_"),
      column.name,
      marks.join(", "),
      remarks.length === 0 ? "" : `"${remarks.join(", ")}"`,
    ];
    return `    ${parts.filter(Boolean).join(" ")}`;
  });
  return [`  ${name} {`, ...attributes, "  }"];
}

interface Source {
  source: string;
  view: string;
}

async function findSources(db: Database): Promise<Source[]> {
  const { rows } = await db.query<Source>(
    `select distinct
      source.relname collate "C" as source,
      view.relname collate "C" as view
    from pg_rewrite as rule
    join pg_depend as dependency
      on dependency.classid = 'pg_rewrite'::regclass
      and dependency.objid = rule.oid
      and dependency.refclassid = 'pg_class'::regclass
      and dependency.refobjid <> rule.ev_class
    join pg_class as source on source.oid = dependency.refobjid
    join pg_class as view on view.oid = rule.ev_class
    where view.relkind = 'v'
      and view.relnamespace in ('public'::regnamespace, 'dex_private'::regnamespace)
    order by
      source,
      view`,
  );
  return rows;
}

/** A table is drawn as a cylinder, a view as a box. */
function flowchart(relations: Relation[], sources: Source[]): string[] {
  const isRead = (name: string): boolean =>
    sources.some(({ source, view }) => source === name || view === name);
  const nodes = relations
    .filter(({ name }) => isRead(name))
    .map(({ name, kind }) => (kind === "r" ? `  ${name}[(${name})]` : `  ${name}[${name}]`));
  // graphile-migrate's own table is of another schema.
  const known = new Set(relations.map(({ name }) => name));
  const edges = sources
    .filter(({ source }) => known.has(source))
    .map(({ source, view }) => `  ${source} --> ${view}`);
  const published = relations
    .filter(({ name, schema }) => schema === "public" && isRead(name))
    .map(({ name }) => name);
  return [
    "flowchart LR",
    ...nodes,
    ...edges,
    "  classDef published stroke-width:3px",
    `  class ${published.join(",")} published`,
  ];
}

interface Routine {
  name: string;
  isDoor: boolean;
  source: string;
  comment: string | null;
}

/** The functions that writers may call are those that run as their owner. */
async function findRoutines(db: Database): Promise<Routine[]> {
  const { rows } = await db.query<Routine>(
    `select
      proname as name,
      prosecdef as "isDoor",
      prosrc as source,
      obj_description(oid, 'pg_proc') as comment
    from pg_proc
    where pronamespace in ('ingest'::regnamespace, 'dex_private'::regnamespace)
    order by proname collate "C"`,
  );
  return rows;
}

const WRITTEN = /\b(?:insert into|update|delete from)\s+(?:public|dex_private|ingest)\.(\w+)/g;
const CALLED = /\b(?:ingest|dex_private)\.(\w+)\(/g;

/** The tables that a function writes, by itself or by those that it calls. */
function writtenBy(routine: Routine, all: Routine[], seen = new Set([routine])): Set<string> {
  const written = new Set([...routine.source.matchAll(WRITTEN)].map(([, table = ""]) => table));
  for (const [, name] of routine.source.matchAll(CALLED)) {
    for (const called of all.filter((one) => one.name === name && !seen.has(one))) {
      seen.add(called);
      for (const table of writtenBy(called, all, seen)) written.add(table);
    }
  }
  return written;
}

function doorRow(routine: Routine, all: Routine[]): string {
  const tables = [...writtenBy(routine, all)].sort().map((table) => `\`${table}\``);
  const what = described(routine.comment).replaceAll("|", "\\|");
  return `| \`${routine.name}\` | ${what} | ${tables.join(", ")} |`;
}

const fenced = (lines: string[]): string => ["```mermaid", ...lines, "```"].join("\n");
