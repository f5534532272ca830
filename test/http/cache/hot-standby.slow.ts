// A service that reads from a hot standby shows what was replayed there, by its version of the data.
import { chmod, chown, cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, makePool, urlForDatabase, type Client, type Pool } from "../../../db/connect.ts";
import type { Account } from "../../../db/embedded/account.ts";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
} from "../../../db/embedded/cluster.ts";
import { applyMigrations } from "../../../db/migrations.ts";
import { makeRoles } from "../../../db/create-roles.ts";
import { KnownVersion } from "../../../market/data-version.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { openClient } from "../../database.ts";
import { exchange, graphql } from "../../exchange-http.ts";
import { blockAt, hours, setHead } from "../../factories.ts";

const PASSWORD = "of-this-test-alone";
const QUICK = { fsync: "off", wal_level: "replica", hot_standby: "on" };
const DATABASE = "market";

const closing: (() => Promise<unknown>)[] = [];
let primaryUrl: string;
let primary: Pool;
let standby: Pool;
let observer: Client;
let app: TestApp;

// The binaries of the embedded PostgreSQL have no pg_basebackup, so the primary is copied while it
// stands still.
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "dex-standby-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  const one = await openCluster(join(folder, "primary"));
  await initialiseCluster(one, PASSWORD);
  let url = urlAt(await startServer(one, QUICK));
  closing.push(() => stopServer(one));
  await using admin = await openClient(urlForDatabase(url, "postgres"));
  await admin.query(`create database ${DATABASE}`);
  await makeRoles(url);
  await applyMigrations(url);
  await stopServer(one);

  const other = { ...one, dataDir: join(folder, "standby") };
  await cp(one.dataDir, other.dataDir, { recursive: true, preserveTimestamps: true });
  url = urlAt(await startServer(one, QUICK));
  const { port } = new URL(url);
  await writeFile(join(other.dataDir, "standby.signal"), "");
  await writeFile(
    join(other.dataDir, "postgresql.auto.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=${SUPERUSER} password=${PASSWORD}'\n`,
  );
  await giveTo(one.account, other.dataDir);
  const standbyUrl = urlAt(await startServer(other, QUICK));
  closing.push(() => stopServer(other));

  primaryUrl = url;
  primary = makePool(url, { role: "dex_writer", poolSize: 2 });
  standby = makePool(standbyUrl, { role: "dex_reader", poolSize: 5 });
  observer = await connect(standbyUrl);
  app = await makeTestApp(standby, { cache: { bytes: 10_000_000, checkMs: CHECK_MS } });
  closing.push(
    () => primary.end(),
    () => standby.end(),
    () => observer.end(),
    () => app.close(),
  );
}, 60_000);

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
}, 60_000);

async function giveTo(account: Account | undefined, folder: string): Promise<void> {
  if (account === undefined) return;
  for (const name of ["", ...(await readdir(folder, { recursive: true }))]) {
    await chown(join(folder, name), account.uid, account.gid);
  }
}

/** For so long the data are taken to stand. */
const CHECK_MS = 20;
const urlAt = (port: number): string =>
  `postgres://${SUPERUSER}:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`;

/** Waits until the standby has replayed all that the primary has written by now. */
async function replayed(): Promise<void> {
  const { rows } = await primary.query<{ written: string }>(
    "select pg_current_wal_lsn()::text as written",
  );
  for (;;) {
    const caughtUp = await observer.query<{ is: boolean }>(
      "select pg_last_wal_replay_lsn() >= $1::pg_lsn as is",
      [rows[0]?.written],
    );
    if (caughtUp.rows[0]?.is === true) return;
  }
}

const logged: unknown[] = [];
const version = async (): Promise<string | undefined> => {
  const version = new KnownVersion({ db: standby, checkMs: 0, log: (error) => logged.push(error) });
  return (await version.ask())?.text;
};

it("reads from a server that is in recovery", async () => {
  const { rows } = await observer.query<{ is: boolean }>("select pg_is_in_recovery() as is");
  expect(rows).toEqual([{ is: true }]);
});

it("has a version that each replayed commit changes", async () => {
  await setHead(primary, 1);
  await replayed();
  const seen = [await version()];
  for (let n = 2; n <= 10; n += 1) {
    await setHead(primary, n);
    await replayed();
    seen.push(await version());
  }
  expect(new Set(seen).size).toBe(10);
  expect(logged).toEqual([]);
});

// A standby's snapshot tells the oldest that is open and the newest that is through, and here both stay.
it("has a version that a commit between the oldest open and the newest one changes", async () => {
  const [oldest, older] = [await connect(primaryUrl), await connect(primaryUrl)];
  await oldest.query("create table note (text text)");
  for (const client of [oldest, older]) {
    await client.query("begin");
    await client.query("insert into note (text) values ('open')");
  }
  await setHead(primary, 11);
  await replayed();
  const before = await version();
  await older.query("commit");
  await replayed();
  const after = await version();
  await oldest.query("rollback");
  for (const client of [oldest, older]) await client.end();
  expect(after).not.toBe(before);
});

it("shows each commit once it was replayed and the version may not be taken to stand", async () => {
  const GRAPHQL_HEAD = graphql({ query: "{ dexHead { block } }" });
  for (let n = 12; n < 32; n += 1) {
    await setHead(primary, n);
    await replayed();
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    for (let again = 0; again < 2; again += 1) {
      const [rest, graph] = await Promise.all([
        exchange(app.url, { path: "/v2/volumes" }),
        exchange(app.url, GRAPHQL_HEAD),
      ]);
      expect(JSON.parse(rest.body.toString())).toMatchObject({ time: hours(n) });
      expect(JSON.parse(graph.body.toString())).toEqual({
        data: { dexHead: { block: blockAt(n) } },
      });
    }
  }
  expect(app.logged).toEqual([]);
});

it("answers from memory what was asked before", async () => {
  await replayed();
  await using kept = await makeTestApp(standby, { cache: { bytes: 10_000_000, checkMs: 60_000 } });
  const ask = () => exchange(kept.url, { path: "/v2/volumes" });
  let questions = 0;
  const count = (): number => (questions += 1);
  // Autovacuum on the primary may change the version during an answer, which is then not kept.
  do {
    const first = await ask();
    questions = 0;
    standby.on("acquire", count);
    expect(await ask()).toEqual(first);
    standby.off("acquire", count);
  } while (questions > 0);
});
