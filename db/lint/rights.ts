// Finds rights that a migration gives beyond reading, and functions that write with the rights of their owner.
import type { CatalogObject } from "../check/catalog.ts";
import { isEqual, isGrantedToReader, listOf, textOf } from "../check/object-facts.ts";
import type { Changes } from "./catalog-changes.ts";
import type { Catalog } from "./effects.ts";
import { nameOf, reachedFrom } from "./readers.ts";
import type { Placed } from "./rules.ts";

/** `excess` has what dex_writer gains that is no right of a writer. */
export function findRights(changes: Changes, excess: string[]): Placed[] {
  const { made, changed, removed } = changes;
  return [
    ...made.flatMap(({ object, at }) => [
      ...findGranted(undefined, object, () => at),
      ...findUnsafe(object, at),
    ]),
    ...changed.flatMap(({ was, is, at }) => [
      ...findGranted(was, is, at),
      ...(isEqual(was.facts["settings"], is.facts["settings"]) &&
      isEqual(was.facts["security"], is.facts["security"])
        ? []
        : findUnsafe(is, Math.max(at("settings"), at("security")))),
    ]),
    // PostgreSQL keeps no default privileges that are its own defaults.
    ...removed
      .filter(({ object }) => object.kind === "default privileges")
      .map(({ at }): Placed => ({
        rule: "execute-grant",
        what: "it lets every role call new functions",
        at,
      })),
    ...findWritersBehind(changes),
    ...findExcess(changes, excess),
  ];
}

/** The grant of a column is a right on its table. */
function findExcess(changes: Changes, excess: string[]): Placed[] {
  return excess.map((right) => {
    const isOf = ({ kind, name, partOf }: CatalogObject): boolean =>
      right.includes(` ${kind === "column" ? partOf : name},`);
    const at = lastOf(changes, isOf, ["grants", "security"]);
    return { rule: "write-grant", what: `dex_writer: ${right}`, at };
  });
}

/** The last statement that makes such an object, or changes one of its facts. */
function lastOf(
  { made, changed }: Changes,
  isOf: (object: CatalogObject) => boolean,
  facts: string[],
): number {
  return Math.max(
    0,
    ...made.flatMap(({ object, at }) => (isOf(object) ? at : [])),
    ...changed.flatMap(({ is, at }) => (isOf(is) ? facts.map(at) : [])),
  );
}

/** The functions that dex_reader may call, that run as their owner, and that reach one that may write: by it. */
function writersBehind(catalog: Catalog): Map<CatalogObject, Set<string>> {
  const functions = [...catalog.values()].filter(({ kind }) => kind === "function");
  const writers = functions
    .filter(({ facts }) => facts["volatility"] === "volatile")
    .map(({ name }) => nameOf(name));
  const found = functions
    .filter((one) => one.facts["security"] === "definer" && isGrantedToReader(one))
    .map((one) => [one, reachedFrom(catalog, [textOf(one.facts, "body")])] as const)
    .filter(([, reached]) => writers.some((name) => reached.has(name)));
  return new Map(found);
}

function findWritersBehind(changes: Changes): Placed[] {
  const had = new Set([...writersBehind(changes.before).keys()].map(({ id }) => id));
  const facts = ["body", "definition", "volatility", "security", "grants"];
  return [...writersBehind(changes.after)]
    .filter(([{ id }]) => !had.has(id))
    .map(([{ name }, reached]): Placed => {
      const isPart = (one: CatalogObject): boolean =>
        one.name === name || reached.has(nameOf(one.name));
      const what = `it lets dex_reader call ${name}, which runs with its owner's rights and calls what may write`;
      return { rule: "write-grant", what, at: lastOf(changes, isPart, facts) };
    });
}

/** Rights beyond reading that dex_reader or everybody gains. */
function findGranted(
  was: CatalogObject | undefined,
  is: CatalogObject,
  at: (fact: string) => number,
): Placed[] {
  const had = was === undefined ? [] : listOf(was.facts, "grants");
  const { kind, name, facts } = is;
  const isVolatile = (one: CatalogObject): boolean => one.facts["volatility"] === "volatile";
  const becameVolatile = was !== undefined && isVolatile(is) && !isVolatile(was);
  const isOfTrigger = ["trigger", "event_trigger"].includes(textOf(facts, "result"));
  const isDefault = kind === "default privileges";
  // PostgreSQL lets every role use a new type.
  const isOfIngest = /^ingest\b/.test(name) && !["type", "domain"].includes(kind);
  return listOf(facts, "grants").flatMap((grant): Placed[] => {
    const [, right = "", role = ""] = /^(.*) to (dex_reader|dex_writer|public)$/.exec(grant) ?? [];
    // db:check has the intended rights of dex_writer, but not those of objects that are made later.
    if (role === "" || (role === "dex_writer" && !isDefault)) return [];
    const isNew = !had.includes(grant);
    const added: Placed = {
      rule: "write-grant",
      what: `it lets ${role} ${right} on ${isDefault ? "new objects" : name}`,
      at: at("grants"),
    };
    if (right === "execute") {
      if (role === "public" && isNew) {
        return [
          { rule: "execute-grant", what: `it lets every role call ${name}`, at: at("grants") },
        ];
      }
      if (isNew && (isDefault || (isOfIngest && !isVolatile(is)))) return [added];
      if (!isVolatile(is) || isOfTrigger || (!isNew && !becameVolatile)) return [];
      const what = `it lets ${role} call ${name}, which is volatile and may write`;
      return [{ rule: "write-grant", what, at: isNew ? at("grants") : at("volatility") }];
    }
    const isReading = right === "select" || (right === "usage" && kind !== "sequence");
    return (isReading && !isDefault && !isOfIngest) || !isNew ? [] : [added];
  });
}

/** A path in which only PostgreSQL has functions and operators. */
const SAFE_PATH = /^search_path=(""|pg_catalog(, pg_temp)?)$/;

function findUnsafe({ name, facts }: CatalogObject, at: number): Placed[] {
  if (facts["security"] !== "definer") return [];
  const path = listOf(facts, "settings").find((setting) => setting.startsWith("search_path="));
  if (path !== undefined && SAFE_PATH.test(path)) return [];
  const resolves =
    path === undefined
      ? "the caller's search_path"
      : `${path.replace("=", " ")}, which is not empty,`;
  const what = `${name} runs with its owner's rights, but ${resolves} resolves its names`;
  return [{ rule: "search-path", what, at }];
}
