// One database, and one service on it, for all tests of a file.
import type { Client, Pool, Role } from "../db/connect.ts";
import { makeTestApp, type TestApp, type TestOptions } from "./app.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";
import { dataOf } from "./graphql.ts";
import { recordStatements, type Statement } from "./statements.ts";

export interface Served {
  app: TestApp;
  database: TestDatabase;
}

type Fill = (writer: Pool, reader: Pool) => Promise<unknown>;

/** Makes a database before the file's tests, with what `fill` writes, and drops it afterwards. */
export function useDatabase(fill?: Fill): TestDatabase {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await makeDatabase();
    await fill?.(database.writer, database.reader);
  });
  afterAll(async () => {
    await database?.drop();
  });
  return later(() => database);
}

/** A session of a role, or of the superuser, from before the file's tests to the end of the database. */
export function useClient(database: TestDatabase, role?: Role): Client {
  let client: Client | undefined;
  beforeAll(async () => {
    client = await database.connect(role);
  });
  return later(() => client);
}

/** With a session of the role that owns all tables. */
export function useOwned(fill?: Fill): { database: TestDatabase; owner: Client } {
  const database = useDatabase(fill);
  return { database, owner: useClient(database, "dex_owner") };
}

/** A service on the database, which ends before it. */
export function useApp(database: TestDatabase, options?: TestOptions): TestApp {
  let app: TestApp | undefined;
  beforeAll(async () => {
    app = await makeTestApp(database.reader, options);
    database.beforeDrop(app.close);
  });
  return later(() => app);
}

/** Makes them before the file's tests, with what `fill` writes, and ends them afterwards. */
export function serveDatabase(fill?: Fill, options?: TestOptions): Served {
  const database = useDatabase(fill);
  return { app: useApp(database, options), database };
}

/** Makes them before the file's tests, each of which begins with what `fill` writes and nothing else. */
export function serveEach(fill?: Fill, options?: TestOptions): Served {
  const served = serveDatabase(undefined, options);
  const { database } = served;
  beforeEach(async () => {
    await database.empty();
    await fill?.(database.writer, database.reader);
  });
  return served;
}

export interface Recorded extends Served {
  /** Those of the running test. */
  statements: Statement[];
}

/** With the statements that a test sends; the schema has been read before. */
export function serveRecorded(fill?: Fill, options?: TestOptions): Recorded {
  const statements: Statement[] = [];
  const served = serveDatabase(async (writer, reader) => {
    await fill?.(writer, reader);
    recordStatements(reader, statements);
  }, options);
  beforeAll(async () => {
    await dataOf(served.app, "{ __typename }");
  });
  beforeEach(() => {
    statements.length = 0;
  });
  return { ...served, statements };
}

/** Stands for what a hook makes, so that tests name it as if it were there from the start. */
function later<Made extends object>(made: () => Made | undefined): Made {
  return new Proxy({} as Made, {
    get: (_, key) => Reflect.get(made() ?? {}, key) as unknown,
    set: (_, key, value) => Reflect.set(made() ?? {}, key, value),
  });
}
