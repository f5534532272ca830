// Restoring a database from its history rows, a partial dump, a whole dump or a replica. Afterwards the
// derived tables follow from history, writing continues, and no id is reused.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import { startServer, stopServer, SUPERUSER, type Cluster } from "../../db/embedded/cluster.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeTestApp } from "../app.ts";
import { contentsOf, schemaOf } from "../database-contents.ts";
import { makeDatabase, openClient, openPool } from "../database.ts";
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
  await using reader = await openClient(url, { role: "dex_reader" });
  const { rows } = await reader.query(
    "select * from dex_market join dex_summary using (pair) order by pair",
  );
  const trades = await reader.query("select * from dex_trade order by id");
  const offers = await reader.query("select * from dex_offer order by id");
  const head = await reader.query("select * from dex_head");
  return [rows, trades.rows, offers.rows, head.rows];
}

/** Expects the same contents, correct derived tables, and working writes. */
async function expectRestored(url: string, original: string): Promise<void> {
  await using owner = await openClient(url, { role: "dex_owner" });
  expect(await verify(owner)).toEqual([]);
  expect(await figures(url)).toEqual(await figures(original));

  await using writer = await openClient(url, { role: "dex_writer" });
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
}

async function rebuild(url: string): Promise<void> {
  await using owner = await openClient(url, { role: "dex_owner" });
  await owner.query("select ingest.rebuild()");
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
  await using owner = await openClient(restored.url, { role: "dex_owner" });
  expect((await verify(owner)).length).toBeGreaterThan(5);

  await rebuild(restored.url);

  await expectRestored(restored.url, original.url);
  await original.drop();
  await restored.drop();
});

it("a rebuild of correct tables changes nothing", async () => {
  await using database = await makeDatabase();
  await using writer = await openClient(database.url, { role: "dex_writer" });
  await fill(writer);
  await using owner = await openClient(database.url, { role: "dex_owner" });
  const before = await contentsOf(owner);
  await rebuild(database.url);
  const after = await contentsOf(owner);
  // Only the epoch changes, because a rebuild may have relabelled rows.
  for (const contents of [before, after]) delete contents["dex_private.write_state"];
  expect(after).toEqual(before);
});

it("a publication for all tables allows every write", async () => {
  await using database = await makeDatabase();
  await using superuser = await openClient(database.url);
  await superuser.query("create publication everything for all tables");
  await using writer = await openClient(database.url, { role: "dex_writer" });
  await fill(writer);
  await registerPair(writer, WETH, MKR);
  await writer.query("select ingest.write_blocks()");
  await writer.query("select ingest.take_back(0)");
  await rebuild(database.url);
  await using owner = await openClient(database.url, { role: "dex_owner" });
  expect(await verify(owner)).toEqual([]);
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

(hasPrograms() ? describe : describe.skip)("on a separate server, with pg_dump", () => {
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
    await using writer = await openClient(original, { role: "dex_writer" });
    await fill(writer);
  });
  afterAll(async () => {
    await stopServer(cluster);
    await rm(folder, { recursive: true, force: true });
  });

  async function makeOne({ migrated }: { migrated: boolean }): Promise<string> {
    const name = `restored_${(made += 1)}`;
    await using admin = await openClient(url);
    await admin.query(`create database ${name}`);
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
    expect(await schemaOf(other)).toEqual(await schemaOf(one));
    await one.end();
    await other.end();
    await expectRestored(restored, original);
  });

  it("a whole dump restores a newer server after what docs/operations.md says", async () => {
    const page = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
    const [, given = ""] =
      /```sql\n(grant execute on function pg_logical_emit_message[^`]*)```/.exec(page)!;
    await using superuser = await openClient(original);
    await superuser.query(given);
    await using newer = await makeDatabase({ migrated: false });
    await makeRoles(newer.url);
    restore(dump(), newer.url);
    await makeRoles(newer.url);
    await makeRoles(original);
    await expectRestored(newer.url, original);
    await using reader = await openClient(newer.url, { role: "dex_reader" });
    await expect(reader.query("select pg_logical_emit_message(false, 'x', 'y')")).rejects.toThrow(
      "permission denied",
    );
  });

  it("a logical replica follows, and works on its own after a rebuild", async () => {
    const source = await makeOne({ migrated: true });
    await using publisher = await openClient(source);
    // The replica has its own record of migrations.
    await publisher.query("create publication ours for tables in schema public, dex_private");
    await publisher.query("select pg_create_logical_replication_slot('replica', 'pgoutput')");
    const replica = await makeOne({ migrated: true });
    await using subscriber = await openClient(replica);
    // The initial copy includes this table.
    await subscriber.query("delete from dex_private.write_state");
    await subscriber.query(
      `create subscription replica connection '${source}' publication ours
      with (create_slot = false, slot_name = 'replica')`,
    );
    await using writer = await openClient(source, { role: "dex_writer" });
    await fill(writer);

    const caughtUp = async (): Promise<boolean> => {
      const [one, other] = [await contentsOf(publisher), await contentsOf(subscriber)];
      const { rowCount } = await subscriber.query(
        "select from pg_subscription_rel where srsubstate <> 'r'",
      );
      return rowCount === 0 && JSON.stringify(one) === JSON.stringify(other);
    };
    while (!(await caughtUp())) await sleep(100);
    await using owner = await openClient(replica, { role: "dex_owner" });
    expect(await verify(owner)).toEqual([]);

    await subscriber.query("drop subscription replica");
    await rebuild(replica);
    await expectRestored(replica, source);
  });

  it("a logical replica of history alone is refused with the reason until its figures are derived", async () => {
    const source = await makeOne({ migrated: true });
    const publisher = await connect(source);
    const writer = await connect(source, { role: "dex_writer" });
    await publisher.query("create publication history for tables in schema public");
    await publisher.query("select pg_create_logical_replication_slot('history', 'pgoutput')");
    await fill(writer);
    const replica = await makeOne({ migrated: true });
    const subscriber = await connect(replica);
    await using pool = openPool(replica, { role: "dex_reader", poolSize: 5 });
    await using app = await makeTestApp(pool);
    await subscriber.query(
      `create subscription history connection '${source}' publication history
      with (create_slot = false, slot_name = 'history')`,
    );
    const untilThere = async (): Promise<void> => {
      const newest = async (client: Client): Promise<unknown[]> => {
        const heads = await client.query("select max(number) as newest from dex_block");
        const trades = await client.query("select max(id) as newest from dex_trade");
        return [...heads.rows, ...trades.rows];
      };
      while (JSON.stringify(await newest(publisher)) !== JSON.stringify(await newest(subscriber))) {
        await sleep(20);
      }
    };
    const graphql = (query: string) => app.request.post("/graphql").send({ query });
    const expectRefused = async (reason: string): Promise<void> => {
      for (const path of ["/v1/markets/", "/v2/prices/weth/dai", "/coingecko/tickers"]) {
        const { body, headers } = await app.request.get(path).expect(503);
        expect(body).toMatchObject({ message: reason });
        expect(headers["retry-after"]).toBe("5");
      }
      for (const field of [
        "dexHead { block }",
        "allDexMarkets { nodes { last } }",
        'dexBook(base: "WETH", quote: "DAI") { nodes { price } }',
        'dexCandles(base: "WETH", quote: "DAI") { nodes { close } }',
        "allDexTrades { totalCount }",
      ]) {
        const { body } = await graphql(`{ ${field} }`);
        expect(body.errors).toMatchObject([
          { message: reason, extensions: { code: "UNAVAILABLE" } },
        ]);
      }
      const ready = await app.request.get("/ready").expect(503);
      expect(ready.body).toEqual({ status: "not ready", reasons: [reason] });
    };
    const expectServed = async (): Promise<void> => {
      await app.request.get("/ready").expect(200);
      await app.request.get("/v1/markets/").expect(200);
      expect(await figures(replica)).toEqual(await figures(source));
    };

    const areCopied = async (): Promise<boolean> =>
      (await subscriber.query("select from pg_subscription_rel where srsubstate <> 'r'"))
        .rowCount === 0;
    while (!(await areCopied())) await sleep(20);
    await untilThere();
    await expectRefused(
      `The figures are not of the head: they are of no block and the last block is ${blockAt(26.2)}`,
    );
    await rebuild(replica);
    await expectServed();

    await write(writer, { trades: [aTrade({ hour: 27 })] });
    await untilThere();
    await expectRefused(
      `The figures are not of the head: they are of block ${blockAt(26.2)} and the last block is ${blockAt(27)}`,
    );
    await using replicaWriter = await openClient(replica, { role: "dex_writer" });
    await expect(write(replicaWriter, { trades: [aTrade({ hour: 28 })] })).rejects.toThrow(
      "The figures are not of the head",
    );
    await rebuild(replica);
    await expectServed();

    // A reorganisation to the same height.
    const hashOf = (digit: string): string => `0x${digit.repeat(64)}`;
    const at = "2030-01-01 00:00:00+00";
    await writer.query("select ingest.write_block($1, $2, $3)", [blockAt(40), at, hashOf("a")]);
    await untilThere();
    await rebuild(replica);
    await expectServed();
    await writer.query("select ingest.take_back($1)", [blockAt(27)]);
    await writer.query("select ingest.write_block($1, $2, $3)", [blockAt(40), at, hashOf("b")]);
    const hash = async (): Promise<unknown> =>
      (await subscriber.query("select hash from dex_block order by number desc limit 1")).rows;
    while (JSON.stringify(await hash()) !== JSON.stringify([{ hash: hashOf("b") }]))
      await sleep(20);
    await expectRefused(
      `The figures are not of the head: they are of another block ${blockAt(40)} and the last block is ${blockAt(40)}`,
    );

    await subscriber.query("drop subscription history");
    await Promise.all([subscriber.end(), publisher.end(), writer.end()]);
  });
});
