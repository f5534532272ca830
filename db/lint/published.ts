// Finds statements that remove or rename objects that GraphQL, REST or the service's code reads.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSchema, isObjectType } from "graphql";
import type { AlterTableStmt, CommentStmt, DropStmt, Node, RenameStmt } from "libpg-query";
import type { Violation } from "./rules.ts";
import {
  columnName,
  functionName,
  nameOf,
  rangeName,
  readsFor,
  schemaOf,
  type Standing,
} from "./standing.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** The schema that GraphQL shows. */
export const EXPOSED_SCHEMA = "public";

/** Folders with code that queries the database. */
const READING_FOLDERS = ["rest", "server", "db/load", "db/simulate"];

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
  const sdl = buildSchema(
    await readFile(join(REPOSITORY, "server/graphql/schema.graphql"), "utf8"),
  );
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

/** Finds existing objects with readers that a statement drops, renames, moves or hides. */
export function findTakenAway(node: Node, before: Standing, readers: Readers): Violation[] {
  if ("AlterTableStmt" in node) return inAlter(node.AlterTableStmt, before, readers);
  if ("DropStmt" in node) return inDrop(node.DropStmt, before, readers);
  if ("RenameStmt" in node) return inRename(node.RenameStmt, before, readers);
  if ("CommentStmt" in node) return inComment(node.CommentStmt, before);
  if ("AlterObjectSchemaStmt" in node) {
    const { relation, object } = node.AlterObjectSchemaStmt;
    const name =
      relation === undefined ? functionName(object ?? { List: {} }) : rangeName(relation);
    return takenAway("it moves", name, before, readers);
  }
  if ("GrantStmt" in node && node.GrantStmt.is_grant !== true) {
    if (!readsFor(node.GrantStmt, "dex_reader")) return [];
    return (node.GrantStmt.objects ?? []).flatMap((object) =>
      "RangeVar" in object
        ? takenAway("it hides", rangeName(object.RangeVar), before, readers)
        : [],
    );
  }
  return [];
}

function inAlter(
  { relation, cmds = [] }: AlterTableStmt,
  before: Standing,
  readers: Readers,
): Violation[] {
  const table = rangeName(relation);
  const standing = before.relations.get(table);
  if (standing === undefined) return [];
  return cmds.flatMap((command): Violation[] => {
    if (!("AlterTableCmd" in command)) return [];
    const { subtype, name = "", behavior } = command.AlterTableCmd;
    if (subtype === "AT_DropColumn") {
      return [...cascades(behavior), ...columnTakenAway("it drops", table, name, before, readers)];
    }
    if (subtype !== "AT_DropConstraint") return [];
    // GraphQL does not show checks, but makes fields of keys.
    const isKey =
      schemaOf(table) === EXPOSED_SCHEMA && standing.constraints.get(name)?.isCheck !== true;
    return [
      ...cascades(behavior),
      ...(isKey
        ? [
            {
              rule: "published" as const,
              what: `it drops ${name}, which GraphQL may use to find or link records of ${table}`,
            },
          ]
        : []),
    ];
  });
}

function inDrop(
  { objects = [], behavior }: DropStmt,
  before: Standing,
  readers: Readers,
): Violation[] {
  const names = objects.map((object) => functionName(object) || nameOf(object));
  return [
    ...cascades(behavior),
    ...names.flatMap((name) => takenAway("it drops", name, before, readers)),
  ];
}

function inRename(
  { relation, object, renameType, subname = "" }: RenameStmt,
  before: Standing,
  readers: Readers,
): Violation[] {
  if (renameType === "OBJECT_COLUMN") {
    return columnTakenAway("it renames", rangeName(relation), subname, before, readers);
  }
  if (renameType === "OBJECT_FUNCTION" && object !== undefined) {
    return takenAway("it renames", functionName(object), before, readers);
  }
  const isRelation = ["OBJECT_TABLE", "OBJECT_VIEW", "OBJECT_MATVIEW"].includes(renameType ?? "");
  return isRelation ? takenAway("it renames", rangeName(relation), before, readers) : [];
}

function cascades(behavior: string | undefined): Violation[] {
  return behavior === "DROP_CASCADE"
    ? [{ rule: "cascade", what: "it drops objects that it does not name" }]
    : [];
}

function takenAway(act: string, name: string, before: Standing, readers: Readers): Violation[] {
  const stood = before.relations.has(name) || before.functions.has(name);
  if (!stood) return [];
  const plain = name.replace(/\(.*$/, "");
  const files = namingFiles(plain, readers);
  if (schemaOf(name) !== EXPOSED_SCHEMA && files.length === 0) return [];
  const type = pascalCase(plain.slice(plain.indexOf(".") + 1));
  return [
    {
      rule: "published",
      what: `${act} ${name}${whoReads(readers.types.has(type) ? type : undefined, files)}`,
    },
  ];
}

function columnTakenAway(
  act: string,
  table: string,
  column: string,
  before: Standing,
  readers: Readers,
): Violation[] {
  const comment = before.relations.get(table)?.columns.get(column);
  if (comment === undefined) return [];
  const files = namingFiles(table, readers).filter((file) => {
    const text = readers.files.find((other) => other.file === file)?.text ?? "";
    return new RegExp(`\\b${column}\\b`).test(text);
  });
  const isShown = schemaOf(table) === EXPOSED_SCHEMA && !/^@behavior -\*/m.test(comment);
  if (!isShown && files.length === 0) return [];
  const type = pascalCase(table.slice(table.indexOf(".") + 1));
  const field = camelCase(column);
  const isField = isShown && readers.types.get(type)?.includes(field) === true;
  return [
    {
      rule: "published",
      what: `${act} ${table}.${column}${whoReads(isField ? `${type}.${field}` : undefined, files)}`,
    },
  ];
}

function whoReads(field: string | undefined, files: string[]): string {
  const readers = [
    ...(field === undefined ? [] : [`GraphQL shows as ${field}`]),
    ...(files.length === 0 ? [] : [`${files.join(", ")} may read`]),
  ];
  return readers.length === 0 ? ", which is published" : `, which ${readers.join(" and ")}`;
}

/** The files that name a table, view or function; objects of public need no schema name. */
function namingFiles(name: string, { files }: Readers): string[] {
  const [schema = "", plain = ""] = name.split(".");
  const pattern = new RegExp(`\\b${schema === EXPOSED_SCHEMA ? "" : `${schema}\\.`}${plain}\\b`);
  return files.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
}

/** Tags that hide an object. */
const HIDING_TAGS = /^@(behavior -|omit)/;

/** Tags that name or hide an object. */
const NAMING_TAGS = /^@(name|fieldName|foreignFieldName|behavior -|omit)/;

function inComment({ objtype, object, comment = "" }: CommentStmt, before: Standing): Violation[] {
  if (object === undefined) return [];
  const [table, part] = columnName(object);
  const stood =
    objtype === "OBJECT_COLUMN"
      ? before.relations.get(table)?.columns.get(part)
      : objtype === "OBJECT_TABCONSTRAINT"
        ? before.constraintComments.get(`${part} on ${table}`)
        : objtype === "OBJECT_FUNCTION"
          ? before.functions.get(functionName(object))?.comment
          : before.relations.get(nameOf(object))?.comment;
  if (stood === undefined) return [];
  const [had, has] = [tagsOf(stood), tagsOf(comment)];
  // Removing a hiding tag adds something for clients and takes nothing away.
  const lost = had.filter((tag) => !has.includes(tag) && !HIDING_TAGS.test(tag));
  const renaming = has.filter((tag) => NAMING_TAGS.test(tag) && !had.includes(tag));
  return [
    ...lost.map((tag): Violation => ({ rule: "tags", what: `it removes the tag ${tag}` })),
    ...renaming.map((tag): Violation => ({
      rule: "tags",
      what: `the tag ${tag} renames or hides what clients read`,
    })),
  ];
}

/** The smart tags of a comment, including those of each relation, without descriptions. */
function tagsOf(comment: string): string[] {
  const lines = comment.split("\n");
  const words = lines.findIndex((line) => !line.startsWith("@"));
  return lines
    .slice(0, words === -1 ? lines.length : words)
    .flatMap((line) => line.split("|"))
    .map((tag) => tag.trim())
    .filter((tag) => !/^@(\w*[dD]escription|deprecated)\b/.test(tag));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function pascalCase(name: string): string {
  const camel = camelCase(name);
  return `${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
}
