// Opens the database that the service reads, and makes sure that it can be served.
import { openEmbedded } from "../db/embedded/open.ts";
import { makePool, type Pool } from "../db/connect.ts";
import { applyMigrations, pendingMigrations } from "../db/migrations.ts";
import { shownUrl } from "../db/shown-url.ts";
import type { Config } from "./config.ts";

/** The database cannot be served as it is; the message says what to do. */
export class CannotServe extends Error {
  override readonly name = "CannotServe";
}

export interface ServedDatabase {
  /** Reads as dex_reader. */
  pool: Pool;
  /** One more connection of the same kind, for what must not wait for the pool's queries. */
  watch: Pool;
  /** The embedded database's superuser, which may fill it; undefined for any other. */
  embeddedUrl: string | undefined;
}

export interface OpenOptions {
  config: Config;
  /** Whether to migrate a database that is not the service's own. */
  migrate: boolean;
  /** Takes what is to be let go when the service ends, the last opened first. */
  stack: AsyncDisposableStack;
  log: (line: string) => void;
}

/**
 * Opens DATABASE_URL, or the embedded database without one. Throws where the database does not
 * answer, cannot be read as dex_reader, or lacks migrations.
 */
export async function openDatabase(options: OpenOptions): Promise<ServedDatabase> {
  const { config, stack } = options;
  const embeddedUrl = config.databaseUrl === undefined ? await startEmbedded(options) : undefined;
  const url = embeddedUrl ?? config.databaseUrl ?? "";
  if (embeddedUrl === undefined && options.migrate) await migrate(config.databaseOwnerUrl ?? url);
  const pool = makePool(url, { role: "dex_reader", poolSize: config.poolSize });
  stack.defer(() => pool.end());
  // It connects when it is first asked.
  const watch = makePool(url, { role: "dex_reader", poolSize: 1 });
  stack.defer(() => watch.end());
  await checkReader(pool, url);
  await checkMigrated(pool);
  if (embeddedUrl === undefined) options.log(`Serving the database ${shownUrl(url)}.`);
  return { pool, watch, embeddedUrl };
}

async function startEmbedded({ config, stack, log }: OpenOptions): Promise<string> {
  const embedded = await openEmbedded({ dataDir: config.dataDir, log });
  stack.defer(() => embedded.stop());
  const found = embedded.adopted ? ", which an earlier service had left running" : "";
  log(`Serving the embedded database${found}; its data are in ${embedded.clusterDir}.`);
  return embedded.url;
}

async function migrate(url: string): Promise<void> {
  try {
    await applyMigrations(url);
  } catch (error) {
    throw new CannotServe(
      `The migrations cannot be applied by ${shownUrl(url)}: ${reason(error)}. Give a login that ` +
        "may become dex_owner as DATABASE_OWNER_URL, and make the roles by `npm run db:roles`.",
      { cause: error },
    );
  }
}

async function checkReader(pool: Pool, url: string): Promise<void> {
  const role = await roleOf(pool, url);
  if (role === "dex_reader") return;
  throw new CannotServe(
    `${shownUrl(url)} reads as ${role}, not as dex_reader. Something on the way drops the ` +
      "connection's `options`: connect to PostgreSQL itself.",
  );
}

async function roleOf(pool: Pool, url: string): Promise<string> {
  try {
    const { rows } = await pool.query<{ role: string }>("select current_user as role");
    return rows[0]?.role ?? "nobody";
  } catch (error) {
    const { code } = error as { code?: string };
    const mayNot = code === "42501" || code === "22023";
    throw new CannotServe(
      mayNot
        ? `${shownUrl(url)} cannot become dex_reader: ${reason(error)}. Make the roles by ` +
            "`npm run db:roles` with a DATABASE_OWNER_URL that may; it grants dex_reader to the " +
            "login of DATABASE_URL."
        : `${shownUrl(url)} does not answer: ${reason(error)}.`,
      { cause: error },
    );
  }
}

async function checkMigrated(pool: Pool): Promise<void> {
  const pending = await pendingMigrations(pool);
  if (pending.length === 0) return;
  throw new CannotServe(
    `The database lacks ${pending.length} migration(s): ${pending.join(", ")}. Apply them by ` +
      "`npm run db:migrate`, or start with `npm start -- --migrate`.",
  );
}

/** What went wrong, in the words of whoever said it; of several refusals the first. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return reason(error.errors[0]);
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}
