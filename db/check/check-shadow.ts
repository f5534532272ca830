// Creates a temporary database with the committed migrations, to compare with.
import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { connect, urlForDatabase } from "../connect.ts";
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
 * name. The caller must drop it.
 */
export async function makeShadow({ shadow, root }: ShadowUrls): Promise<Shadow> {
  const name = `dex_check_${randomBytes(6).toString("hex")}`;
  const admin = await connect(root);
  try {
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
  } catch (error) {
    throw shadowRefused(error, root);
  } finally {
    await admin.end();
  }
  const drop = async (): Promise<void> => {
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
