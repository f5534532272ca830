// Creates a temporary database with the committed migrations, to compare with.
import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { connect, urlForDatabase, type Client } from "../connect.ts";
import type { ShadowUrls } from "../locate.ts";
import { applyMigrations } from "../migrations.ts";
import { shadowRefused } from "../migrate-settings.ts";
import { makeRoles } from "../create-roles.ts";

/** PostgreSQL's SQLSTATE. */
const INSUFFICIENT_PRIVILEGE = "42501";

export interface Shadow {
  /** The URL of the login that db:commit uses on its shadow. */
  url: string;
  drop(): Promise<void>;
}

/**
 * Creates the database on the server and with the login of db:commit's shadow database, under a unique
 * name. The caller must drop it; what a killed run has left is dropped here.
 */
export async function makeShadow({ shadow, root }: ShadowUrls): Promise<Shadow> {
  const name = `dex_check_${randomBytes(6).toString("hex")}`;
  // Its name in pg_stat_activity says that the run goes on.
  const holder = await connect(root);
  try {
    // Not as the session begins: the URL may have another one.
    await holder.query(`set application_name = '${name}'`);
    await dropLeftovers(holder);
    await holder.query(`create database ${name} template template0 encoding 'UTF8'`);
  } catch (error) {
    await holder.end();
    throw shadowRefused(error, root);
  }
  const drop = async (): Promise<void> => {
    await holder.end();
    await using client = await connect(root);
    await client.query(`drop database if exists ${name} with (force)`).catch((error: unknown) => {
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
      // Only a superuser may force an autovacuum worker out; without `force`, PostgreSQL itself ends it.
      return client.query(`drop database if exists ${name}`);
    });
  };
  try {
    await makeRoles(urlForDatabase(root, name));
  } catch (error) {
    await drop();
    throw error;
  }
  return { url: urlForDatabase(shadow, name), drop };
}

/** Of runs that have ended without a chance to drop theirs. */
async function dropLeftovers(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select left_over.datname as name
    from pg_database as left_over
    where left_over.datname ~ '^dex_check_[0-9a-f]{12}$'
      and not exists (
        select
        from pg_stat_activity as session
        where left_over.datname in (session.application_name, session.datname)
      )`,
  );
  for (const { name } of rows) {
    // Another run may drop it now, or another login may have created it.
    await client.query(`drop database if exists ${name}`).catch(() => undefined);
  }
}

/** Applies only these committed migrations. */
export async function applyOnly(url: string, files: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dex-migrations-"));
  try {
    await mkdir(join(folder, "committed"));
    for (const file of files) {
      await cp(join(MIGRATIONS_FOLDER, "committed", file), join(folder, "committed", file));
    }
    await applyMigrations(url, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
