// Restoring a database from its history rows, a partial dump, a whole dump or a replica. Afterwards the
// derived tables follow from history, writing continues, and no id is reused.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { readCatalog } from "../../db/check/catalog.ts";
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import { startServer, stopServer, SUPERUSER, type Cluster } from "../../db/embedded/cluster.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/roles.ts";
import { verify } from "../../db/verify/verify.ts";
import { contentsOf } from "../database-contents.ts";
import { makeDatabase } from "../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  DAI,
  MKR,
  registerMarkets,
  registerPair,
  setHead,
  WETH,
  write,
} from "../factories.ts";
import { initialiseOther, openOther } from "../other-postgres.ts";

/** Fills every table; the trade with id 5 was removed. */
async function fill(writer: Client): Promise<void> {
  await registerMarkets(writer);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 0 }),
      anOffer({ id: 2, hour: 1, killed: blockAt(2) }),
      anOffer({ id: 3, hour: 1, side: "buy", filled: true }),
      anOffer({ id: 4, hour: 1, baseGem: MKR, quoteGem: WETH }),
    ],
    trades: [
      aTrade({ hour: 1, offer_id: 1 }),
      aTrade({ hour: 2, offer_id: 1, base: "9", quote: "900" }),
      aTrade({ hour: 2, idx: 1, offer_id: 9, side: "buy", quote: "95" }),
      aTrade({ hour: 26, offer_id: 4, baseGem: MKR, quoteGem: WETH }),
    ],
  });
  await write(writer, { trades: [aTrade({ hour: 26.1 })] });
  await writer.query("select ingest.take_back($1)", [blockAt(26)]);
  await setHead(writer, 26.2);
}

async function figures(url: string): Promise<unknown> {
  const reader = await connect(url, { role: "dex_reader" });
  const { rows } = await reader.query("select * from dex_market join dex_summary using (pair)");
  const trades = await reader.query("select * from dex_trade order by id");
  const offers = await reader.query("select * from dex_offer order by id");
  const head = await reader.query("select * from dex_head");
  await reader.end();
  return [rows, trades.rows, offers.rows, head.rows];
}

/** Expects the same contents, correct derived tables, and working writes. */
async function expectRestored(url: string, original: string): Promise<void> {
  const owner = await connect(url, { role: "dex_owner" });
  expect(await verify(owner)).toEqual([]);
  expect(await figures(url)).toEqual(await figures(original));

  const writer = await connect(url, { role: "dex_writer" });
  await write(writer, {
    offers: [anOffer({ id: 5, hour: 27 })],
    trades: [aTrade({ hour: 27, offer_id: 1 })],
  });
  await registerPair(writer, MKR, DAI);
  const { rows } = await owner.query("select max(id) as id from dex_trade");
  // The removed trade had id 5.
  expect(rows).toEqual([{ id: "6" }]);
  await writer.query("select ingest.take_back($1)", [blockAt(1)]);
  expect(await verify(owner)).toEqual([]);
  await writer.end();
  await owner.end();
}

async function rebuild(url: string): Promise<void> {
  const owner = await connect(url, { role: "dex_owner" });
  await owner.query("select ingest.rebuild()");
  await owner.end();
}

it("a rebuild derives everything from copied history rows", async () => {
  const [original, restored] = [await makeDatabase(), await makeDatabase()];
  const [from, to] = [await connect(original.url), await connect(restored.url)];
  await fill(from);
  for (const [table, columns] of [
    ["dex_token", "*"],
    ["dex_pair", "id, base, quote, base_gem, quote_gem, base_precision, quote_precision, active"],
    ["dex_block", "*"],
    ["dex_offer", "*"],
    ["dex_trade", "*"],
  ] as const) {
    const into = columns === "*" ? table : `${table} (${columns})`;
    await pipeline(
      from.query(copyTo(`copy (select ${columns} from ${table}) to stdout`)),
      to.query(copyFrom(`copy ${into} from stdin`)),
    );
  }
  await from.end();
  await to.end();
  const owner = await connect(restored.url, { role: "dex_owner" });
  expect((await verify(owner)).length).toBeGreaterThan(5);
  await owner.end();

  await rebuild(restored.url);

  await expectRestored(restored.url, original.url);
  await original.drop();
  await restored.drop();
});

it("a rebuild of correct tables changes nothing", async () => {
  const database = await makeDatabase();
  const writer = await connect(database.url, { role: "dex_writer" });
  await fill(writer);
  await writer.end();
  const owner = await connect(database.url, { role: "dex_owner" });
  const before = await contentsOf(owner);
  await rebuild(database.url);
  const after = await contentsOf(owner);
  // Only the epoch changes, because a rebuild may have relabelled rows.
  for (const contents of [before, after]) delete contents["dex_private.write_state"];
  expect(after).toEqual(before);
  await owner.end();
  await database.drop();
});

it("a publication for all tables allows every write", async () => {
  const database = await makeDatabase();
  const superuser = await connect(database.url);
  await superuser.query("create publication everything for all tables");
  await superuser.end();
  const writer = await connect(database.url, { role: "dex_writer" });
  await fill(writer);
  await registerPair(writer, WETH, MKR);
  await writer.query("select ingest.write_blocks()");
  await writer.query("select ingest.take_back(0)");
  await writer.end();
  await rebuild(database.url);
  const owner = await connect(database.url, { role: "dex_owner" });
  expect(await verify(owner)).toEqual([]);
  await owner.end();
  await database.drop();
});

const PROGRAMS = process.env["TEST_POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin";

function hasPrograms(): boolean {
  try {
    for (const name of ["pg_dump", "psql", "initdb"]) accessSync(join(PROGRAMS, name));
    return true;
  } catch {
    console.warn(
      `Dumps and replication are not tested: ${PROGRAMS} has no pg_dump. Name a folder by TEST_POSTGRES_BIN.`,
    );
    return false;
  }
}

(hasPrograms() ? describe : describe.skip)("on a server of its own, with pg_dump", () => {
  let folder: string;
  let cluster: Cluster;
  /** The superuser's connection to the maintenance database. */
  let url: string;
  let original: string;
  let made = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "dex-restore-"));
    await chmod(folder, 0o755);
    cluster = await openOther(join(folder, "postgres"), PROGRAMS);
    const password = randomBytes(18).toString("base64url");
    await initialiseOther(cluster, password, join(folder, "password"));
    const port = await startServer(cluster, { fsync: "off", wal_level: "logical" });
    url = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
    original = await makeOne({ migrated: true });
    const writer = await connect(original, { role: "dex_writer" });
    await fill(writer);
    await writer.end();
  });
  afterAll(async () => {
    await stopServer(cluster);
    await rm(folder, { recursive: true, force: true });
  });

  async function makeOne({ migrated }: { migrated: boolean }): Promise<string> {
    const name = `restored_${(made += 1)}`;
    const admin = await connect(url);
    await admin.query(`create database ${name}`);
    await admin.end();
    const database = urlForDatabase(url, name);
    await makeRoles(database);
    if (migrated) await applyMigrations(database);
    return database;
  }

  const dump = (...args: string[]): string =>
    execFileSync(join(PROGRAMS, "pg_dump"), [...args, `--dbname=${original}`], {
      encoding: "utf8",
      maxBuffer: 1e8,
    });
  const restore = (sql: string, into: string): void => {
    execFileSync(join(PROGRAMS, "psql"), ["-qX", "-v", "ON_ERROR_STOP=1", `--dbname=${into}`], {
      input: sql,
      stdio: ["pipe", "ignore", "pipe"],
    });
  };

  it("the data of the schema public restores a migrated database", async () => {
    const restored = await makeOne({ migrated: true });
    restore(dump("--data-only", "--schema=public"), restored);
    await rebuild(restored);
    await expectRestored(restored, original);
  });

  it("a dump without the rows of derived tables restores the database", async () => {
    const restored = await makeOne({ migrated: false });
    restore(dump("--exclude-table-data=dex_private.*"), restored);
    await rebuild(restored);
    await expectRestored(restored, original);
  });

  it("a whole dump restores the database, including grants", async () => {
    const restored = await makeOne({ migrated: false });
    restore(dump(), restored);
    const [one, other] = [await connect(original), await connect(restored)];
    expect(await contentsOf(other)).toEqual(await contentsOf(one));
    const schemas = ["public", "dex_private", "ingest"];
    expect(await readCatalog(other, schemas)).toEqual(await readCatalog(one, schemas));
    await one.end();
    await other.end();
    await expectRestored(restored, original);
  });

  it("a logical replica follows, and works on its own after a rebuild", async () => {
    const source = await makeOne({ migrated: true });
    const publisher = await connect(source);
    // The replica has its own record of migrations.
    await publisher.query("create publication ours for tables in schema public, dex_private");
    await publisher.query("select pg_create_logical_replication_slot('replica', 'pgoutput')");
    const replica = await makeOne({ migrated: true });
    const subscriber = await connect(replica);
    // The initial copy includes this table.
    await subscriber.query("delete from dex_private.write_state");
    await subscriber.query(
      `create subscription replica connection '${source}' publication ours
      with (create_slot = false, slot_name = 'replica')`,
    );
    const writer = await connect(source, { role: "dex_writer" });
    await fill(writer);
    await writer.end();

    const caughtUp = async (): Promise<boolean> => {
      const [one, other] = [await contentsOf(publisher), await contentsOf(subscriber)];
      const { rowCount } = await subscriber.query(
        "select from pg_subscription_rel where srsubstate <> 'r'",
      );
      return rowCount === 0 && JSON.stringify(one) === JSON.stringify(other);
    };
    while (!(await caughtUp())) await sleep(100);
    const owner = await connect(replica, { role: "dex_owner" });
    expect(await verify(owner)).toEqual([]);
    await owner.end();

    await subscriber.query("drop subscription replica");
    await subscriber.end();
    await publisher.end();
    await rebuild(replica);
    await expectRestored(replica, source);
  });
});
