// Who reads an object of the database: GraphQL, the service's code, and functions.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSchema, isObjectType } from "graphql";
import type { CatalogObject } from "../check/catalog.ts";
import { isHidden, textOf } from "../check/object-facts.ts";
import type { Catalog } from "./effects.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** The schema that GraphQL shows. */
export const EXPOSED_SCHEMA = "public";

/** Folders with code that queries the database. */
const READING_FOLDERS = [
  ...["chain", "graphql", "http", "market", "page", "rest", "server"],
  ...["db/commands", "db/export", "db/load", "db/mirror", "db/simulate", "db/verify"],
];

/** The code that names database objects, and the types of the tracked SDL. */
export interface Readers {
  files: { file: string; text: string }[];
  /** The fields of each GraphQL type. */
  types: Map<string, string[]>;
}

/** Reads the code and the SDL of the repository. */
export async function readReaders(): Promise<Readers> {
  const files = await Promise.all(
    READING_FOLDERS.map(async (folder) => {
      const entries = await readdir(join(REPOSITORY, folder), {
        recursive: true,
        withFileTypes: true,
      });
      return entries.filter(({ name }) => name.endsWith(".ts"));
    }),
  );
  const sdl = buildSchema(await readFile(join(REPOSITORY, "graphql/schema.graphql"), "utf8"));
  return {
    files: await Promise.all(
      files.flat().map(async ({ parentPath, name }) => ({
        file: relative(REPOSITORY, join(parentPath, name)),
        text: await readFile(join(parentPath, name), "utf8"),
      })),
    ),
    types: new Map(
      Object.values(sdl.getTypeMap())
        .filter((type) => isObjectType(type))
        .map((type) => [type.name, Object.keys(type.getFields())]),
    ),
  };
}

export function isExposed(object: CatalogObject): boolean {
  return object.name.startsWith(`${EXPOSED_SCHEMA}.`) && !isHidden(object);
}

/** A clause that names the readers of a removed object; undefined if there are none. */
export function readersOf(
  object: CatalogObject,
  after: Catalog,
  readers: Readers,
): string | undefined {
  const isColumn = object.kind === "column";
  const owner = (isColumn ? (object.partOf ?? "") : object.name).replace(/\(.*$/, "");
  const field = isColumn ? object.name.slice(owner.length + 1) : undefined;
  const type = pascalCase(owner.slice(owner.indexOf(".") + 1));
  const fields = readers.types.get(type);
  const shown =
    field === undefined
      ? fields && type
      : fields?.includes(camelCase(field)) === true
        ? `${type}.${camelCase(field)}`
        : undefined;
  const names = [...naming(readers.files, owner, field), ...naming(bodies(after), owner, field)];
  const clauses = [
    ...(isExposed(object) && shown !== undefined ? [`GraphQL shows as ${shown}`] : []),
    ...(names.length === 0 ? [] : [`${listed(names)} may read`]),
  ];
  if (clauses.length > 0) return `, which ${clauses.join(" and ")}`;
  return isExposed(object) ? ", which is published" : undefined;
}

const bodies = (catalog: Catalog): Readers["files"] =>
  [...catalog.values()]
    .filter(({ kind }) => kind === "function")
    .map(({ name, facts }) => ({ file: name, text: String(facts["body"]) }));

/** The files that name an object; those of public need no schema. */
function naming(files: Readers["files"], owner: string, field: string | undefined): string[] {
  const [schema = "", plain = ""] = owner.split(".");
  const patterns = [
    new RegExp(`\\b${schema === EXPOSED_SCHEMA ? "" : `${schema}\\.`}${plain}\\b`),
    ...(field === undefined ? [] : [new RegExp(`\\b${field}\\b`)]),
  ];
  return files
    .filter(({ text }) => patterns.every((pattern) => pattern.test(text)))
    .map(({ file }) => file);
}

const SHOWN = 5;

export function listed(names: string[]): string {
  if (names.length <= SHOWN) return names.join(", ");
  return `${names.slice(0, SHOWN).join(", ")} and ${names.length - SHOWN} more`;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function pascalCase(name: string): string {
  const camel = camelCase(name);
  return `${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
}

/** Of a function without its arguments. */
export const nameOf = (name: string): string => name.replace(/\(.*$/, "");

/** The functions, views and tables that these texts name, and what those name in turn. */
export function reachedFrom(catalog: Catalog, texts: string[]): Set<string> {
  const byName = Map.groupBy(
    [...catalog.values()].filter(({ kind }) => ["function", "view", "table"].includes(kind)),
    ({ name }) => nameOf(name),
  );
  const found = new Set<string>();
  const read = (text: string): void => {
    for (const [, schema = EXPOSED_SCHEMA, plain = ""] of text.matchAll(/\b(?:(\w+)\.)?(\w+)\b/g)) {
      const name = `${schema}.${plain}`;
      if (found.has(name)) continue;
      const named = byName.get(name);
      if (named === undefined) continue;
      found.add(name);
      for (const { facts } of named)
        read(`${textOf(facts, "body")} ${textOf(facts, "definition")}`);
    }
  };
  for (const text of texts) read(text);
  return found;
}

/** What the kept figures depend on: functions and views by name, and the tables that `ingest` reads or writes. */
export function keptBy(catalog: Catalog): Set<string> {
  const called = (text: string): string[] => text.match(/\b\w+\.\w+(?=\()/g) ?? [];
  return reachedFrom(
    catalog,
    [...catalog.values()].flatMap(({ kind, name, facts }) => {
      if (kind === "function") return name.startsWith("ingest.") ? nameOf(name) : [];
      if (kind === "column") return called(textOf(facts, "default"));
      const definition = textOf(facts, "definition");
      if (kind === "trigger") return definition;
      return ["constraint", "index"].includes(kind) ? called(definition) : [];
    }),
  );
}
