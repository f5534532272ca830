// Every check of a database, one after the other.
import { committedMigrations } from "../committed.ts";
import { connect, type Client } from "../connect.ts";
import type { ShadowUrls } from "../locate.ts";
import { readCatalog, type CatalogObject } from "./catalog.ts";
import { findUndescribed } from "./comments.ts";
import { findDrift, type Drift } from "./drift.ts";
import type { Finding } from "./finding.ts";
import { findExcessiveRights, readLogins } from "./grants.ts";
import {
  countReached,
  findChangedFiles,
  findForeignRecords,
  findPending,
  recordedMigrations,
} from "./history.ts";
import { readPublications } from "./publications.ts";
import { findUnindexed } from "./relations.ts";
import { applyOnly, makeShadow, type Shadow } from "./shadow.ts";

/** The schemas that our migrations make, and that are compared. */
export const OUR_SCHEMAS = ["public", "dex_private", "ingest"];

export interface CheckOptions {
  /** Its login may become dex_owner. */
  url: string;
  shadow: ShadowUrls;
  /** The schemas that GraphQL shows. */
  exposed: string[];
  /** Looks at a database that the migrations have just made: what follows from them is tracked elsewhere. */
  checkMade: (url: string) => Promise<Finding[]>;
  /** Hears of the shadow, so that it can be dropped where the check is broken off. */
  onShadow?: (shadow: Shadow) => void;
}

export interface CheckResult {
  /** The schemas that were compared with what the migrations make. */
  compared: string[];
  /** The schemas in which everything that clients see needs a comment. */
  exposed: string[];
  /** How many migrations there are, and how many of them the database has. */
  migrations: { committed: number; applied: number };
  findings: Finding[];
  /** The objects that a site has added to ours, and says so by a tag; they are not compared. */
  additions: string[];
  /** What is no fault, and worth knowing: publications, and the logins of the roles. */
  notes: string[];
  /** What was not checked, and why. */
  skipped: string[];
}

/** What is read of the database itself, at one moment. */
interface Live {
  recorded: { filename: string; hash: string }[];
  catalog: CatalogObject[];
  version: string;
  findings: Finding[];
  notes: string[];
}

/**
 * Checks the database, reading only, against a shadow that is made for it and dropped. Throws where it
 * could not be checked: it does not answer, has no roles, or no shadow can be made.
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
    result.skipped.push("drift and the SDL: the committed migrations are not what was committed");
  } else {
    const shadow = await makeShadow(options.shadow);
    options.onShadow?.(shadow);
    try {
      if (foreign.length > 0) {
        result.skipped.push("drift: the database was migrated by other migrations than these");
      } else {
        // As far as the database is, so that what it lacks is not told of as drift besides.
        await applyOnly(
          shadow.url,
          reached.map(({ file }) => file),
        );
        const intended = await readIntended(shadow.url, live.version);
        const drift: Drift = findDrift(live.catalog, intended, reached);
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
    return {
      version: await majorVersion(db),
      recorded: await recordedMigrations(db),
      catalog: await readCatalog(db, OUR_SCHEMAS),
      findings: [
        ...(await findUndescribed(db, exposed)),
        ...(await findUnindexed(db, OUR_SCHEMAS)),
        ...(await findExcessiveRights(db, OUR_SCHEMAS)),
        ...publications.findings,
      ],
      notes: [...publications.notes, ...(await readLogins(db))],
    };
  });
}

async function readIntended(url: string, version: string): Promise<CatalogObject[]> {
  return atOneMoment(url, async (db) => {
    const shadowVersion = await majorVersion(db);
    if (shadowVersion !== version) {
      throw new Error(
        `The shadow is on PostgreSQL ${shadowVersion} and the database on ${version}, which write ` +
          "definitions differently: give a SHADOW_DATABASE_URL and ROOT_DATABASE_URL of the same version",
      );
    }
    return readCatalog(db, OUR_SCHEMAS);
  });
}

/** Reads in one snapshot, with every name written out with its schema. */
async function atOneMoment<T>(url: string, read: (db: Client) => Promise<T>): Promise<T> {
  const client = await connect(url, { role: "dex_owner" });
  try {
    await client.query("begin isolation level repeatable read read only");
    await client.query("set local search_path to ''");
    return await read(client);
  } finally {
    await client.end();
  }
}

async function majorVersion(db: Client): Promise<string> {
  const { rows } = await db.query<{ version: string }>(
    "select (current_setting('server_version_num')::integer / 10000)::text as version",
  );
  return rows[0]?.version ?? "";
}
