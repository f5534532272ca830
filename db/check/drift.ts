// Compares the schema of a database with the schema that its migrations make, object by object.
import type { CommittedMigration } from "../committed.ts";
import type { CatalogObject } from "./catalog.ts";
import { isEqual } from "./object-facts.ts";
import type { Finding } from "./finding.ts";

export interface Drift {
  findings: Finding[];
  /** Objects that a site has added and tagged as such. */
  additions: string[];
}

/** The tag of an object that a site has added. */
const ADDITION = /^@addition\b/m;

/** Of a longer value only the first differing line is shown. */
const SHOWN_LENGTH = 100;

/** Compares two catalogs. Does not list the parts of a missing or additional object. */
export function findDrift(
  live: CatalogObject[],
  intended: CatalogObject[],
  migrations: CommittedMigration[],
): Drift {
  const key = ({ kind, name }: CatalogObject): string => `${kind} ${name}`;
  const intendedByKey = new Map(intended.map((object) => [key(object), object]));
  const liveKeys = new Set(live.map(key));
  const made = (object: CatalogObject, facts?: string[]): string =>
    whereMade(object, migrations, facts);
  const additions: string[] = [];
  const findings: Finding[] = [];

  for (const object of withoutParts(intended.filter((other) => !liveKeys.has(key(other))))) {
    findings.push({
      check: "drift",
      object: key(object),
      problem: "it is missing",
      remedy: `Create it again with the statements of the migrations${made(object)}.`,
    });
  }
  for (const object of withoutParts(live.filter((other) => !intendedByKey.has(key(other))))) {
    const comment = object.facts["comment"];
    if (typeof comment === "string" && ADDITION.test(comment)) {
      additions.push(key(object));
      continue;
    }
    findings.push({
      check: "drift",
      object: key(object),
      problem: "no migration creates it",
      remedy: isHalfMade(object)
        ? "Its creation was interrupted and it is invalid: `npm run db:migrate` drops it if a pending " +
          "migration creates it; otherwise drop it with `drop index concurrently`."
        : "Drop it, or create it in a migration. Put a site's own objects into a separate schema, or " +
          "begin their comments with @addition.",
    });
  }
  for (const object of live) {
    const wanted = intendedByKey.get(key(object));
    if (wanted === undefined) continue;
    const facts = Object.keys({ ...wanted.facts, ...object.facts }).filter(
      (fact) => !isEqual(object.facts[fact], wanted.facts[fact]),
    );
    if (facts.length === 0) continue;
    findings.push({
      check: "drift",
      object: key(object),
      problem: facts
        .map((fact) => difference(fact, object.facts[fact], wanted.facts[fact]))
        .join("; "),
      remedy:
        `Restore the definition of the migrations${made(object, facts)}, or make the change in a ` +
        "migration." +
        (isHalfMade(object) ? " Repair an invalid index with `reindex index concurrently`." : ""),
    });
  }
  return { findings, additions };
}

/** Whether it is an invalid index, left by an interrupted `create index concurrently`. */
function isHalfMade({ kind, facts }: CatalogObject): boolean {
  return kind === "index" && facts["state"] === "invalid";
}

/** Removes the objects that are part of another of these objects. */
function withoutParts(objects: CatalogObject[]): CatalogObject[] {
  const names = new Set(objects.map((object) => object.name));
  return objects.filter((object) => object.partOf === null || !names.has(object.partOf));
}

function difference(fact: string, live: unknown, wanted: unknown): string {
  if (Array.isArray(live ?? []) && Array.isArray(wanted ?? [])) {
    const [actual, expected] = [(live ?? []) as unknown[], (wanted ?? []) as unknown[]];
    const additional = actual.filter((one) => !expected.includes(one));
    const missing = expected.filter((one) => !actual.includes(one));
    return [
      ...(additional.length > 0
        ? [`its ${fact} have the additional ${additional.join(", ")}`]
        : []),
      ...(missing.length > 0 ? [`its ${fact} lack ${missing.join(", ")}`] : []),
    ].join(" and ");
  }
  const [actual, expected] = [shown(live), shown(wanted)];
  if (isShort(actual) && isShort(expected)) {
    return `its ${fact} is ${actual}, but ${expected} in the migrations`;
  }
  const [lines, wantedLines] = [actual.split("\n"), expected.split("\n")];
  const first = lines.findIndex((line, index) => line !== wantedLines[index]);
  const line = first === -1 ? lines.length : first;
  return (
    `its ${fact} differs from line ${line + 1} on: ${quoted(lines[line])}, but ` +
    `${quoted(wantedLines[line])} in the migrations`
  );
}

function isShort(text: string): boolean {
  return text.length <= SHOWN_LENGTH && !text.includes("\n");
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value.trim() : JSON.stringify(value);
}

function quoted(line: string | undefined): string {
  if (line === undefined) return "its end";
  const text = line.trim();
  return `\`${text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text}\``;
}

/** Kinds that are created by a statement on their table. */
const WITHIN_TABLE = ["column", "constraint"];

/** The last migrations that create, alter or comment on the object, as a reference for the user. */
function whereMade(
  object: CatalogObject,
  migrations: CommittedMigration[],
  facts = ["definition"],
): string {
  const lastWith = (statement: string): string | undefined =>
    migrations.findLast(({ body }) => new RegExp(`^${statement}(?![.\\w])`, "m").test(body))?.file;
  const name = WITHIN_TABLE.includes(object.kind) ? (object.partOf ?? "") : object.name;
  const last = name
    .replace(/(\(| on ).*$/, "")
    .split(".")
    .at(-1);
  const making = lastWith(
    `(create( or replace| unique)*|alter) \\w+( view)?( concurrently)?( if (not )?exists)? (\\w+\\.)?${last}`,
  );
  const commented = object.name.replace(/\(.*$/, "").replaceAll("public.", "(public\\.)?");
  const files = facts.map((fact) =>
    fact === "comment" ? (lastWith(`comment on ${object.kind} ${commented}`) ?? making) : making,
  );
  const known = [...new Set(files)].filter((file) => file !== undefined);
  return known.length === 0 ? "" : ` (see ${known.join(", ")})`;
}
