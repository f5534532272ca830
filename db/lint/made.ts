// Finds what a migration makes that does not belong there.
import type { CatalogObject } from "../check/catalog.ts";
import { TAKEN_BACK } from "../check/relations.ts";
import { isEqual, isGrantedToReader, isSilent, textOf } from "../check/object-facts.ts";
import type { Changes } from "./catalog-changes.ts";
import { EXPOSED_SCHEMA, keptBy, listed, nameOf, reachedFrom } from "./readers.ts";
import type { Placed } from "./rules.ts";

const PUBLISHED = ["table", "view", "materialized view", "function"];

export function findMade(changes: Changes): Placed[] {
  const { before, made, changed, removed } = changes;
  const kept = keptBy(before);
  const named = new Set(
    [...before.values()].map(({ kind, name }) => (kind === "function" ? nameOf(name) : name)),
  );
  return [
    ...made.flatMap(({ object, at }) => [
      ...findUndescribed(object, at),
      ...findBadType(undefined, object, at),
      ...inNewObject(object, kept, named, at),
      ...findOfNow(object, changes, at),
    ]),
    ...changed.flatMap(({ was, is, at }) => [
      ...findBadType(was, is, at("type")),
      // The name of a renamed table changes in each view of it.
      ...findOtherResult(was, is, kept, at).filter(
        (one) => !removed.some((gone) => gone.at === one.at),
      ),
      ...findOtherDefault(was, is, kept, at),
      ...["definition", "body"]
        .filter((fact) => !isEqual(was.facts[fact], is.facts[fact]))
        .flatMap((fact) => findOfNow(is, changes, at(fact))),
    ]),
    ...findLongerRows(changes),
  ];
}

/** Types that round, or that depend on the session, with the reason. */
const BAD_TYPES: [RegExp, string][] = [
  [/^real\b/, "is rounded to 6 digits"],
  [/^double precision\b/, "is rounded to 15 digits"],
  [/^(timestamp|time)\b.* without time zone/, "depends on the time zone"],
];

function findBadType(
  was: CatalogObject | undefined,
  { kind, name, facts }: CatalogObject,
  at: number,
): Placed[] {
  if (kind !== "column" && kind !== "domain") return [];
  const type = textOf(facts, kind === "column" ? "type" : "base");
  if (was?.facts["type"] === type) return [];
  return BAD_TYPES.filter(([pattern]) => pattern.test(type)).map(([, reason]): Placed => ({
    rule: "column-type",
    what: `${name} has a type that ${reason}`,
    at,
  }));
}

/** What shows rows of blocks, and does not follow the block that is asked for. */
function findOfNow({ kind, name, facts }: CatalogObject, { after }: Changes, at: number): Placed[] {
  const isRead = PUBLISHED.includes(kind) && facts["result"] !== "trigger";
  if (!isRead || !name.startsWith(`${EXPOSED_SCHEMA}.`)) return [];
  const reached = reachedFrom(after, [`${textOf(facts, "definition")} ${textOf(facts, "body")}`]);
  const read = TAKEN_BACK.map((table) => `${EXPOSED_SCHEMA}.${table}`).filter((one) =>
    reached.has(one),
  );
  if (read.length === 0 || reached.has("dex_private.as_of")) return [];
  const what = `${name} shows ${listed(read)} as of the head where a past block is asked for, and caches keep that for an hour`;
  return [{ rule: "as-of", what, at }];
}

/** The comments and the grant of a new object that clients read. */
function findUndescribed(object: CatalogObject, at: number): Placed[] {
  const { kind, name, facts } = object;
  const isTrigger = facts["result"] === "trigger";
  if (!name.startsWith(`${EXPOSED_SCHEMA}.`) || isTrigger) return [];
  const isPublished = PUBLISHED.includes(kind);
  const [right, object_] = kind === "function" ? ["execute", `function ${name}`] : ["select", name];
  return [
    ...(isSilent(object) && (isPublished || kind === "column")
      ? [{ rule: "comment" as const, what: `${name} has no comment`, at }]
      : []),
    ...(isPublished && !isGrantedToReader(object)
      ? [{ rule: "grant" as const, what: `dex_reader is not granted ${right} on ${object_}`, at }]
      : []),
  ];
}

/** What a new object changes about those that stood before. */
function inNewObject(
  { kind, name, partOf, facts }: CatalogObject,
  kept: ReadonlySet<string>,
  before: ReadonlySet<string>,
  at: number,
): Placed[] {
  if (kind === "trigger" && kept.has(partOf ?? "")) {
    const what = `${name} runs whenever the functions of ingest write`;
    return [{ rule: "trigger", what, at }];
  }
  if (kind === "function" && before.has(nameOf(name))) {
    const what = `it may make calls of ${nameOf(name)} ambiguous, of which there is another`;
    return [{ rule: "published", what, at }];
  }
  const definition = textOf(facts, "definition");
  const [, held = ""] = /^FOREIGN KEY .* REFERENCES (?:public\.)?(\w+)\(/.exec(definition) ?? [];
  if (TAKEN_BACK.includes(held) && !/ ON DELETE (CASCADE|SET)/.test(definition)) {
    const what = `${name} keeps rows of ${held}: a reorganisation that takes one back fails, and writing stops`;
    return [{ rule: "holds-rows", what, at }];
  }
  const deletes = / ON (DELETE|UPDATE) (CASCADE|SET)/.test(definition);
  return kind === "constraint" && deletes && before.has(partOf ?? "")
    ? [{ rule: "cascade", what: `${name} changes or deletes rows that no statement names`, at }]
    : [];
}

/** A function that makes rows of a table or type by a list of columns fails when that has one more. */
function findLongerRows({ before, after, made, changed }: Changes): Placed[] {
  const replaced = new Set(
    changed
      .filter(({ was, is }) => !isEqual(was.facts["body"], is.facts["body"]))
      .map(({ was }) => was),
  );
  return made.flatMap(({ object: { kind, name, partOf }, at }): Placed[] => {
    const stood = [...before.values()].find((one) => one.kind !== "column" && one.name === partOf);
    if (kind !== "column" || stood === undefined) return [];
    // Most functions take whole rows of the published tables.
    const isPublished = stood.kind !== "type" && stood.name.startsWith(`${EXPOSED_SCHEMA}.`);
    const [returned, cast] = [`\\b${stood.name}\\b`, `::\\s*${stood.name}\\b`];
    const makers = [...before].filter(
      ([key, one]) =>
        one.kind === "function" &&
        !replaced.has(one) &&
        after.has(key) &&
        !(isPublished && /(\.|\bselect\s+)\*/i.test(textOf(one.facts, "body"))) &&
        [
          new RegExp(returned).test(textOf(one.facts, "result")),
          new RegExp(cast).test(textOf(one.facts, "body")),
        ].includes(true),
    );
    if (makers.length === 0) return [];
    const functions = listed(makers.map(([, one]) => nameOf(one.name)));
    const what = `it adds ${name}, but ${functions} ${makers.length === 1 ? "makes" : "make"} rows without it and would fail, and all who call it`;
    return [{ rule: "row-type", what, at }];
  });
}

/** A function or view that the kept figures were computed with has another definition. */
function findOtherResult(
  was: CatalogObject,
  is: CatalogObject,
  kept: ReadonlySet<string>,
  at: (fact: string) => number,
): Placed[] {
  if (!kept.has(nameOf(was.name))) return [];
  if (!["function", "view"].includes(was.kind)) return [];
  return ["body", "definition", "strict", "volatility", "security"]
    .filter((fact) => !isEqual(was.facts[fact], is.facts[fact]))
    .slice(0, 1)
    .map((fact): Placed => ({
      rule: "kept",
      what: `it changes ${was.name}, with which the rows that stand were computed`,
      at: at(fact),
    }));
}

/** A column whose value the functions of ingest leave to its definition is filled otherwise. */
function findOtherDefault(
  was: CatalogObject,
  is: CatalogObject,
  kept: ReadonlySet<string>,
  at: (fact: string) => number,
): Placed[] {
  if (was.kind !== "column" || !kept.has(was.partOf ?? "")) return [];
  // A default of another table is for rows that somebody else writes.
  const isOfStaging = was.name.startsWith("ingest.");
  return ["default", "generated", "identity"]
    .filter((fact) => !isEqual(was.facts[fact], is.facts[fact]))
    .filter((fact) => isOfStaging || (fact !== "default" && textOf(was.facts, fact) !== ""))
    .slice(0, 1)
    .map((fact): Placed => ({
      rule: "kept",
      what: `it changes how ${was.name} is filled, on which the functions of ingest rely`,
      at: at(fact),
    }));
}
