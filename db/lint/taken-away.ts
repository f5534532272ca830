// Finds what a migration takes away from those who read the database, and from the data.
import type { CatalogObject } from "../check/catalog.ts";
import { descriptionOf, isEqual, isSilent, listOf, textOf } from "../check/object-facts.ts";
import type { Changes } from "./catalog-changes.ts";
import { EXPOSED_SCHEMA, keptBy, readersOf, type Readers } from "./readers.ts";
import type { Placed, Rule } from "./rules.ts";

/** What is read by its name, as far as it is visible or somebody names it. */
const READ = [
  "table",
  "view",
  "materialized view",
  "function",
  "column",
  "type",
  "domain",
  "schema",
];

export function findTakenAway(changes: Changes, readers: Readers): Placed[] {
  return [
    ...findRemoved(changes, readers),
    ...changes.changed.flatMap((change) => inChanged(change, changes, readers)),
  ];
}

function findRemoved({ removed, before, after }: Changes, readers: Readers): Placed[] {
  // The tables of the schema itself: the functions of ingest read or write each.
  const kept = keptBy(before);
  return removed.flatMap(({ object, newName, at }): Placed[] => {
    const { kind, name, partOf, facts } = object;
    const schemaOf = (one: string): string => one.slice(0, one.indexOf("."));
    const act =
      newName === undefined
        ? "it drops"
        : kind === "column" || schemaOf(newName) === schemaOf(name)
          ? "it renames"
          : "it moves";
    const definition = textOf(facts, "definition");
    if (kind === "trigger" && newName === undefined) {
      return [{ rule: "trigger", what: `it drops ${name.replace(" on ", " of ")}`, at }];
    }
    // GraphQL does not show checks, but makes fields of keys.
    const isKey =
      (kind === "constraint" && !definition.startsWith("CHECK")) ||
      (kind === "index" && definition.startsWith("CREATE UNIQUE"));
    if (isKey && newName === undefined && partOf?.startsWith(`${EXPOSED_SCHEMA}.`) === true) {
      const what = `${act} ${name.replace(/ on .*$/, "")}, which GraphQL may use to find or link records of ${partOf}`;
      return [{ rule: "published", what, at }];
    }
    const isFinding = kind === "index" || definition.startsWith("PRIMARY KEY");
    if (isFinding && newName === undefined && kept.has(partOf ?? "")) {
      const what = `${act} ${name.replace(/ on .*$/, "")}, by which rows of ${partOf} are found and ordered`;
      return [{ rule: "published", what, at }];
    }
    if (!READ.includes(kind)) {
      const isSequence = kind === "sequence" && newName === undefined;
      return isSequence ? [{ rule: "data-loss", what: `${act} the sequence ${name}`, at }] : [];
    }
    const clause = readersOf(object, after, readers);
    if (clause !== undefined) return [{ rule: "published", what: `${act} ${name}${clause}`, at }];
    const isOfTable = kind === "column" && before.has(`table ${partOf}`);
    const hasRows = kind === "table" || kind === "materialized view" || isOfTable;
    return hasRows && newName === undefined
      ? [{ rule: "data-loss", what: `it drops ${name} and all that it holds`, at }]
      : [];
  });
}

function inChanged(
  { was, is, at }: Changes["changed"][number],
  { after }: Changes,
  readers: Readers,
): Placed[] {
  const found: Placed[] = [];
  const differs = (fact: string): boolean => !isEqual(was.facts[fact], is.facts[fact]);
  const add = (rule: Rule, fact: string, what: string): void =>
    void found.push({ rule, what, at: at(fact) });
  const { kind, name } = was;
  const clause = (): string | undefined => readersOf(was, after, readers);

  for (const grant of lost(was, is, "grants")) {
    const [, right = "", role = ""] = /^(.*) to (.*)$/.exec(grant) ?? [];
    const stillHas = listOf(is.facts, "grants").includes(`${right} to dex_reader`);
    const isRead = ["select", "execute", "usage"].includes(right) && !stillHas;
    if (kind === "default privileges" || (role === "public" && !isRead)) continue;
    const isOfReader = isRead && role !== "dex_writer" && role !== "its owner";
    const what = isOfReader
      ? `it hides ${name}${clause() ?? ""}`
      : `it takes ${right} on ${name} from ${role}`;
    add("published", "grants", what);
  }
  for (const value of lost(was, is, "values")) {
    add("published", "values", `it removes ${value} from ${name}`);
  }
  if (was.facts["nullability"] === "not null" && differs("nullability")) {
    add("ban-drop-not-null", "nullability", `${name} becomes nullable`);
  }
  for (const fact of ["type", "result", "arguments", "base"]) {
    if (!differs(fact) || textOf(was.facts, fact) === "") continue;
    const readBy = clause();
    if (readBy === undefined) continue;
    const types = `from ${textOf(was.facts, fact)} to ${textOf(is.facts, fact)}`;
    add("changing-column-type", fact, `it changes the ${fact} of ${name}${readBy}, ${types}`);
  }
  if (kind === "function" && differs("strict") && is.facts["strict"] === true) {
    const readBy = clause();
    const what = `it lets ${name}${readBy ?? ""}, give nothing where an argument is null`;
    if (readBy !== undefined) add("published", "strict", what);
  }
  if (["view", "materialized view"].includes(kind) && differs("options")) {
    const readBy = clause();
    if (readBy !== undefined) {
      add("published", "options", `it changes with whose rights ${name} reads${readBy}`);
    }
  }
  if (kind === "trigger" && (differs("state") || differs("definition"))) {
    add("trigger", differs("state") ? "state" : "definition", `it changes ${name}`);
  }
  if (differs("comment")) found.push(...inComment(was, is, at("comment")));
  return found;
}

function lost(was: CatalogObject, is: CatalogObject, fact: string): string[] {
  const has = listOf(is.facts, fact);
  return listOf(was.facts, fact).filter((one) => !has.includes(one));
}

/** Tags that hide an object, or parts of it, and add nothing. */
const HIDING_TAGS = /^@(behavior( -\S+)+$|omit)/;

function inComment(was: CatalogObject, is: CatalogObject, at: number): Placed[] {
  const [stood, stands] = [textOf(was.facts, "comment"), textOf(is.facts, "comment")];
  const [had, has] = [tagsOf(stood), tagsOf(stands)];
  // Removing a hiding tag adds something for clients and takes nothing away.
  const gone = had.filter((tag) => !has.includes(tag) && !HIDING_TAGS.test(tag));
  const losesItsDescription = descriptionOf(stood) !== "" && isSilent(is);
  return [
    ...gone.map((tag): Placed => ({ rule: "tags", what: `it removes the tag ${tag}`, at })),
    ...(losesItsDescription
      ? [{ rule: "comment" as const, what: `it removes the description of ${is.name}`, at }]
      : []),
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

/** Rules of which one statement gets one finding for all objects. */
const MERGED: Rule[] = [
  "published",
  "data-loss",
  "kept",
  "write-grant",
  "execute-grant",
  "cascade",
];

export function merged(found: Placed[]): Placed[] {
  const groups = Map.groupBy(found, ({ at, rule, what }) =>
    MERGED.includes(rule) ? `${at} ${rule}` : `${at} ${rule} ${what}`,
  );
  return [...groups.values()].flatMap((group) => {
    const first = group.find(({ what }) => what.includes("GraphQL shows")) ?? group[0];
    if (first === undefined) return [];
    const also = group.length === 1 ? "" : `; the same of ${group.length - 1} more`;
    return [{ ...first, what: `${first.what}${also}` }];
  });
}
