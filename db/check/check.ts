// Runs all checks of a database.
import { readFile } from "node:fs/promises";
import { committedMigrations, recordedMigrations, type RecordedMigration } from "../committed.ts";
import { connect, type Client, type Database } from "../connect.ts";
import type { ShadowUrls } from "../locate.ts";
import { readCatalog, type CatalogObject } from "./catalog.ts";
import { findDrift } from "./drift.ts";
import type { Finding, Findings } from "./finding.ts";
import { findExcessiveRights, readLogins } from "./grants.ts";
import {
  countReached,
  findChangedFiles,
  findForeignRecords,
  findPending,
} from "./migration-history.ts";
import { findHolding, findUnindexed } from "./relations.ts";
import { applyOnly, makeShadow, type Shadow } from "./check-shadow.ts";
import { isGrantedToReader, isHidden, isSilent, textOf } from "./object-facts.ts";

/** The schemas of our migrations; these are compared. */
export const OUR_SCHEMAS = ["public", "dex_private", "ingest"];

export interface CheckOptions {
  /** The database; its login may become dex_owner. */
  url: string;
  shadow: ShadowUrls;
  /** The schemas that GraphQL shows. */
  exposed: string[];
  /** Checks tracked files, such as the SDL, against a database with all committed migrations. */
  checkMade: (url: string) => Promise<Finding[]>;
  /** Called before the shadow database is made, so that the caller can drop it if the check is interrupted. */
  onShadow?: (shadow: Promise<Shadow>) => void;
}

export interface CheckResult {
  /** The schemas that were compared with the migrations. */
  compared: string[];
  /** The schemas in which every published object needs a comment. */
  exposed: string[];
  /** Number of committed migrations, and of those that the database has. */
  migrations: { committed: number; applied: number };
  findings: Finding[];
  /** Objects that a site has added and tagged as @addition; they are not compared. */
  additions: string[];
  /** Information that is not a fault: publications, the logins of the roles, and their time limits. */
  notes: string[];
  /** Checks that were skipped, with the reason. */
  skipped: string[];
}

/** The state of the checked database, read in one snapshot. */
interface Live {
  recorded: RecordedMigration[];
  catalog: CatalogObject[];
  version: string;
  findings: Finding[];
  notes: string[];
}

/**
 * Checks the database, without writing to it, against a temporary shadow database. Throws if the check is
 * impossible: the database does not answer, the roles are missing, or the shadow cannot be created.
 */
export async function checkDatabase(options: CheckOptions): Promise<CheckResult> {
  const { url, exposed, checkMade } = options;
  const committed = await committedMigrations();
  const live = await readLive(url, exposed);
  const changed = findChangedFiles(committed);
  const foreign = findForeignRecords(committed, live.recorded);
  const names = new Set(live.recorded.map(({ filename }) => filename));
  const applied = committed.filter(({ recordedAs }) => names.has(recordedAs)).length;
  const reached = committed.slice(0, countReached(committed, live.recorded));
  const result: CheckResult = {
    compared: OUR_SCHEMAS,
    exposed,
    migrations: { committed: committed.length, applied },
    findings: [...changed, ...foreign, ...findPending(committed, live.recorded)],
    additions: [],
    notes: live.notes,
    skipped: [],
  };
  if (changed.length > 0) {
    result.skipped.push("drift and the SDL: committed migrations have been changed");
  } else {
    const making = makeShadow(options.shadow);
    options.onShadow?.(making);
    const shadow = await making;
    try {
      if (foreign.length > 0) {
        result.skipped.push("drift: the database has other migrations than this checkout");
      } else {
        // Only up to the database's last migration, so that pending ones are not reported as drift too.
        await applyOnly(
          shadow.url,
          reached.map(({ file }) => file),
        );
        const intended = await readIntended(shadow.url, live.version);
        const drift = findDrift(live.catalog, intended, reached);
        result.findings.push(...drift.findings);
        result.additions = drift.additions;
      }
      if (foreign.length > 0 || reached.length < committed.length) {
        await applyOnly(
          shadow.url,
          committed.map(({ file }) => file),
        );
      }
      result.findings.push(...(await checkMade(shadow.url)));
    } finally {
      await shadow.drop();
    }
  }
  result.findings.push(...live.findings);
  return result;
}

async function readLive(url: string, exposed: string[]): Promise<Live> {
  return atOneMoment(url, async (db) => {
    const publications = await readPublications(db, OUR_SCHEMAS);
    const settings = await readSettings(db);
    const catalog = await readCatalog(db, OUR_SCHEMAS);
    const ofSites = await readCatalog(
      db,
      exposed.filter((schema) => !OUR_SCHEMAS.includes(schema)),
    );
    return {
      version: await majorVersion(db),
      recorded: await recordedMigrations(db),
      catalog,
      findings: [
        ...findUndescribed([...catalog, ...ofSites], exposed),
        ...(await findUnindexed(db, OUR_SCHEMAS)),
        ...(await findHolding(db)),
        ...(await findExcessiveRights(db, OUR_SCHEMAS)),
        ...publications.findings,
        ...settings.findings,
      ],
      notes: [...publications.notes, ...(await readLogins(db)), ...settings.notes],
    };
  });
}

async function readIntended(url: string, version: string): Promise<CatalogObject[]> {
  return atOneMoment(url, async (db) => {
    const shadowVersion = await majorVersion(db);
    if (shadowVersion !== version) {
      throw new Error(
        `The shadow database is on PostgreSQL ${shadowVersion} and the database on ${version}, which format ` +
          "definitions differently: set SHADOW_DATABASE_URL and ROOT_DATABASE_URL to a server of the same " +
          "version",
      );
    }
    return readCatalog(db, OUR_SCHEMAS);
  });
}

/** Reads in one snapshot, with an empty search_path so that every name includes its schema. */
async function atOneMoment<T>(url: string, read: (db: Client) => Promise<T>): Promise<T> {
  await using client = await connect(url, { role: "dex_owner" });
  await client.query("begin isolation level repeatable read read only");
  await client.query("set local search_path to ''");
  return await read(client);
}

async function majorVersion(db: Client): Promise<string> {
  const { rows } = await db.query<{ version: string }>(
    "select (current_setting('server_version_num')::integer / 10000)::text as version",
  );
  return rows[0]?.version ?? "";
}

const RELATIONS = ["table", "view", "materialized view", "foreign table"];

/** The objects of these schemas that dex_reader may read and that have no description. */
function findUndescribed(catalog: CatalogObject[], exposed: string[]): Finding[] {
  const ofSchemas = catalog.filter(({ partOf }) => exposed.includes(partOf ?? ""));
  const relations = ofSchemas.filter(
    (object) => RELATIONS.includes(object.kind) && !isHidden(object),
  );
  const columns = Map.groupBy(
    catalog.filter(({ kind }) => kind === "column"),
    ({ partOf }) => partOf,
  );
  const published = [
    ...ofSchemas.filter(isPublishedFunction),
    ...relations.flatMap((relation) => {
      const its = columns.get(relation.name) ?? [];
      const read = isGrantedToReader(relation) ? its : its.filter(isGrantedToReader);
      return read.length > 0 || isGrantedToReader(relation) ? [relation, ...read] : [];
    }),
  ];
  return published.filter(isSilent).map(({ kind, name }) => ({
    check: "comments",
    object: `${kind} ${name}`,
    problem: "it is visible to clients and has no comment",
    remedy: `Add one in a migration: comment on ${kind} ${name} is '…'; or hide it with the tag @behavior -*.`,
  }));
}

/** A volatile function would be a mutation, and GraphQL shows none. */
function isPublishedFunction(object: CatalogObject): boolean {
  const { kind, facts } = object;
  if (kind !== "function" || facts["volatility"] === "volatile") return false;
  return !textOf(facts, "result").endsWith("trigger") && isGrantedToReader(object);
}

const PUBLICATIONS = new URL("./publications.sql", import.meta.url);

/** The publications that include tables of these schemas; the notes have the tables of each. */
async function readPublications(db: Database, schemas: string[]): Promise<Findings> {
  const { rows } = await db.query<{
    name: string;
    isOfAll: boolean;
    tables: string[];
    refused: string[];
  }>(await readFile(PUBLICATIONS, "utf8"), [schemas]);
  return {
    notes: rows.map(
      ({ name, isOfAll, tables }) =>
        `publication ${name} publishes ${isOfAll ? "all tables" : tables.join(", ")}`,
    ),
    findings: rows.flatMap(({ name, refused }) =>
      refused.map((table) => ({
        check: "publications",
        object: `publication ${name}`,
        problem: `it publishes updates or deletes of ${table}, which has no primary key, so they all fail`,
        remedy: `Publish whole rows: alter table ${table} replica identity full; or remove the table from the publication.`,
      })),
    ),
  };
}

const SETTINGS = new URL("./settings.sql", import.meta.url);

/** The encoding and the locale of the database, and how long other sessions may hold back the cleaning of rows. */
export async function readSettings(db: Database): Promise<Findings> {
  const { rows } = await db.query<{
    encoding: string;
    capitalOfI: string;
    isOtherAlphabet: boolean;
    maxPrepared: number;
    unlimitedLogins: string[];
  }>(await readFile(SETTINGS, "utf8"));
  const [found] = rows;
  if (found === undefined) throw new Error("pg_database does not have the current database");
  const { encoding, capitalOfI, isOtherAlphabet, maxPrepared, unlimitedLogins } = found;
  const findings: Finding[] = [];
  if (encoding !== "UTF8") {
    findings.push({
      check: "settings",
      object: "encoding of the database",
      problem: `it is ${encoding}, which cannot hold every symbol`,
      remedy:
        "Create a database by `create database … encoding 'UTF8' template template0`, and restore the history into it.",
    });
  }
  if (isOtherAlphabet) {
    findings.push({
      check: "settings",
      object: "locale of the database",
      problem: `it writes i in capitals as ${capitalOfI}, so symbols are not found in any letter case`,
      remedy:
        "Create a database with another locale, such as C.UTF-8, and restore the history into it.",
    });
  }
  return {
    findings,
    notes: [
      ...(unlimitedLogins.length > 0
        ? [
            `idle_in_transaction_session_timeout is 0 for ${unlimitedLogins.join(", ")}: ` +
              "a transaction that is left open makes every write slower",
          ]
        : []),
      ...(maxPrepared > 0
        ? [
            `max_prepared_transactions is ${maxPrepared}: ` +
              "a prepared transaction that is not ended makes every write slower, also after a restart",
          ]
        : []),
    ],
  };
}
