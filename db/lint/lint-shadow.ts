// A temporary database with the committed migrations, on which a migration is tried statement by statement.
import { readCatalog } from "../check/catalog.ts";
import { applyOnly, makeShadow, type Shadow } from "../check/check-shadow.ts";
import { findExcessiveRights } from "../check/grants.ts";
import { connect, type Client } from "../connect.ts";
import { errorText } from "../error-text.ts";
import type { ShadowUrls } from "../locate.ts";
import { effectsOf, measure, SCHEMAS, type Catalog, type Effects } from "./effects.ts";
import { KnownFunctions } from "./functions.ts";
import { PLACEHOLDER, readStatements } from "./statements.ts";

/** Limit of each statement. */
const STATEMENT_TIMEOUT_MS = 5000;

/** PostgreSQL's SQLSTATE where other objects depend on a dropped one. */
const DEPENDENTS = "2BP01";

/** Of the warning that dex_owner may not grant a right, which then has no effect. */
const NOT_GRANTED = "01007";

/** A statement to try. */
export interface Tried {
  sql: string | undefined;
  changesCatalog: boolean;
}

interface Before extends Made {
  catalog: Catalog;
  functions: KnownFunctions;
}

/** What there is when the statements have been applied. */
interface Made {
  excess: string[];
  sdl: Sdl;
}

/** What GraphQL makes of the database, or why it cannot. Neither, if it is not asked for. */
export interface Sdl {
  text?: string;
  problem?: string;
}

/** The GraphQL schema of what a session sees in its transaction, as dex_reader. */
export type ReadSdl = (client: Client) => Promise<string>;

export class LintShadow {
  readonly #urls: ShadowUrls;
  readonly #readSdl: ReadSdl | undefined;
  #shadow: Promise<Shadow> | undefined;
  /** One session for all that is rolled back: its caches of the catalog take longer to fill than to use. */
  #client: Promise<Client> | undefined;
  /** The committed migrations that it has; undefined if it cannot be used again. */
  #applied: string[] | undefined = [];
  #before: Before | undefined;

  constructor(urls: ShadowUrls, readSdl?: ReadSdl) {
    this.#urls = urls;
    this.#readSdl = readSdl;
  }

  /** Applies these committed migrations, and no other. */
  async reach(files: string[]): Promise<void> {
    const applied = this.#applied;
    if (applied === undefined || applied.some((file, index) => file !== files[index])) {
      await this.drop();
      this.#applied = [];
    } else if (this.#before !== undefined && applied.length === files.length) return;
    await applyOnly(await this.#url(), files);
    this.#applied = files;
    this.#before = undefined;
  }

  /** What there is before the next migration. */
  async before(): Promise<Before> {
    return (this.#before ??= await this.#connected(async (client) => {
      const ofServer = await client.query<{ name: string }>(
        `select distinct proname as name
        from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace`,
      );
      const functions = new KnownFunctions(new Set(ofServer.rows.map(({ name }) => name)));
      const { rows } = await client.query<{ definition: string }>(
        `select pg_get_functiondef(function.oid) as definition
        from pg_proc as function
        join pg_namespace as schema on schema.oid = function.pronamespace
        where schema.nspname !~ '^pg_'
          and schema.nspname <> 'information_schema'
          and function.prokind = 'f'`,
      );
      const definitions = rows.map(({ definition }) => `${definition};`).join("\n");
      for (const { node } of await readStatements(definitions)) {
        if ("CreateFunctionStmt" in node) functions.add(node.CreateFunctionStmt);
      }
      await client.query("begin");
      const made = await this.#made(client);
      await client.query("rollback");
      return { catalog: await catalogOf(client), functions, ...made };
    }));
  }

  /**
   * Applies the statements as db:migrate would, up to the first that fails, in a transaction of which nothing
   * stays unless `keep`. Statements without SQL are left out.
   */
  async apply(statements: Tried[], keep: boolean): Promise<{ effects: Effects[] } & Made> {
    const { catalog } = await this.before();
    return this.#connected(async (client) => {
      const effects: Effects[] = [];
      await client.query("begin");
      const start = await measure(client);
      let last = { catalog, measured: start };
      for (const { sql, changesCatalog } of statements) {
        const error = sql === undefined ? undefined : await applyOne(client, sql);
        const measured = await measure(client);
        const now = sql !== undefined && changesCatalog ? await catalogOf(client) : last.catalog;
        effects.push(effectsOf(start, last.measured, measured, now, error));
        last = { catalog: now, measured };
        if (error !== undefined) break;
      }
      const made = await this.#made(client);
      await client.query(keep ? "commit" : "rollback");
      if (keep) {
        [this.#applied, this.#before] = [undefined, undefined];
        // A migration may leave settings in its session.
        await this.#disconnect();
      }
      return { effects, ...made };
    });
  }

  async #made(client: Client): Promise<Made> {
    const excess = await excessOf(client);
    if (this.#readSdl === undefined) return { excess, sdl: {} };
    await client.query("savepoint made");
    await client.query("set local role dex_reader");
    const sdl = await this.#readSdl(client).then(
      (text): Sdl => ({ text }),
      (error: unknown): Sdl => ({ problem: errorText(error) }),
    );
    await client.query("rollback to made");
    return { excess, sdl };
  }

  async drop(): Promise<void> {
    await this.#disconnect();
    const shadow = await this.#shadow?.catch(() => undefined);
    this.#shadow = undefined;
    this.#before = undefined;
    await shadow?.drop();
  }

  async #url(): Promise<string> {
    return (await (this.#shadow ??= makeShadow(this.#urls))).url;
  }

  async #connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.#client ??= connect(await this.#url(), {
      role: "dex_owner",
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    try {
      return await work(await this.#client);
    } catch (error) {
      await this.#disconnect();
      throw error;
    }
  }

  async #disconnect(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    this.#client = undefined;
    await client?.end();
  }
}

/** The error, if PostgreSQL refuses it. What only dependents keep from being dropped is dropped with them. */
async function applyOne(client: Client, given: string): Promise<string | undefined> {
  const text = given.replace(PLACEHOLDER, (_, name: string) =>
    name === "DATABASE_OWNER" ? "dex_owner" : `"${client.database}"`,
  );
  const attempt = async (sql: string): Promise<{ message: string; code?: string } | undefined> => {
    await client.query("savepoint statement");
    try {
      await client.query(sql);
      return undefined;
    } catch (error) {
      await client.query("rollback to statement");
      return error as { message: string; code?: string };
    }
  };
  let warning: string | undefined;
  client.on("notice", ({ code, message }) => {
    if (code === NOT_GRANTED) warning = message;
  });
  const error = await attempt(text);
  client.removeAllListeners("notice");
  if (error?.code === DEPENDENTS) await attempt(`${text} cascade`);
  return error?.message ?? warning;
}

async function schemasOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ schemas: string[] }>(`select ${SCHEMAS} as schemas`);
  return rows[0]?.schemas ?? [];
}

/** The rights of dex_writer that `npm run db:check` reports. */
async function excessOf(client: Client): Promise<string[]> {
  const found = await findExcessiveRights(client, await schemasOf(client));
  return found.filter(({ object }) => object === "role dex_writer").map(({ problem }) => problem);
}

/** By kind and name. */
async function catalogOf(client: Client): Promise<Catalog> {
  const schemas = await schemasOf(client);
  // An empty path makes every name include its schema.
  await client.query("set search_path to ''");
  const objects = await readCatalog(client, schemas);
  await client.query("reset search_path");
  return new Map(objects.map((object) => [`${object.kind} ${object.name}`, object]));
}
