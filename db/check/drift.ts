// How the schema of a database differs from the one that its migrations make, object by object.
import type { CommittedMigration } from "../committed.ts";
import type { CatalogObject } from "./catalog.ts";
import type { Finding } from "./finding.ts";

export interface Drift {
  findings: Finding[];
  /** What a site has added and says so. */
  additions: string[];
}

/** A comment that begins with this says that a site has added the object itself. */
const ADDITION = /^@addition\b/m;

/** Longer values are shown by the first line that differs. */
const SHOWN_LENGTH = 100;

/**
 * What the one catalog has that the other has not. Of what is missing, or is there in excess, the
 * parts are not told of besides.
 */
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
      remedy: `Make it again, by the statements of the migrations${made(object)}.`,
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
      problem: "no migration makes it",
      remedy: isHalfMade(object)
        ? "It was broken off while it was made, and serves nobody: `npm run db:migrate` drops it where " +
          "a migration that waits makes it again; else `drop index concurrently` it."
        : "Drop it, or make it by a migration. What a site adds for itself belongs in a schema of " +
          "its own, or has a comment that begins with @addition.",
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
        `Bring it back to what the migrations make of it${made(object, facts)}, or make the change by a ` +
        "migration." +
        (isHalfMade(object)
          ? " An index that was broken off while it was made is mended by `reindex index concurrently`."
          : ""),
    });
  }
  return { findings, additions };
}

/** An index made concurrently that was broken off. */
function isHalfMade({ kind, facts }: CatalogObject): boolean {
  return kind === "index" && facts["state"] === "invalid";
}

/** Without the objects that are a part of another of these. */
function withoutParts(objects: CatalogObject[]): CatalogObject[] {
  const names = new Set(objects.map((object) => object.name));
  return objects.filter((object) => object.partOf === null || !names.has(object.partOf));
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

function difference(fact: string, live: unknown, wanted: unknown): string {
  if (Array.isArray(live ?? []) && Array.isArray(wanted ?? [])) {
    const [has, ought] = [(live ?? []) as unknown[], (wanted ?? []) as unknown[]];
    const excess = has.filter((one) => !ought.includes(one));
    const lacks = ought.filter((one) => !has.includes(one));
    return [
      ...(excess.length > 0 ? [`its ${fact} have ${excess.join(", ")} in excess`] : []),
      ...(lacks.length > 0 ? [`its ${fact} lack ${lacks.join(", ")}`] : []),
    ].join(" and ");
  }
  const [has, ought] = [shown(live), shown(wanted)];
  if (isShort(has) && isShort(ought)) {
    return `its ${fact} is ${has}, where the migrations make it ${ought}`;
  }
  const [lines, wantedLines] = [has.split("\n"), ought.split("\n")];
  const first = lines.findIndex((line, index) => line !== wantedLines[index]);
  const line = first === -1 ? lines.length : first;
  return (
    `its ${fact} differs from line ${line + 1} on: ${quoted(lines[line])}, where the ` +
    `migrations have ${quoted(wantedLines[line])}`
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

/** Of what has no name of its own in a statement, the statement is its table's. */
const WITHIN_TABLE = ["column", "constraint"];

/** Where to read how it is made: the last migrations that create or alter it, or comment on it. */
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
