// What an embedded database survives, and what it refuses.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRoot } from "../../db/embedded/account.ts";
import { checkLinks, SYSTEM_DIR } from "../../db/embedded/binaries.ts";
import { DataDirInUse, takeLock } from "../../db/embedded/lock.ts";
import { openEmbedded, type Embedded } from "../../db/embedded/open.ts";
import { birthOf } from "../../db/embedded/process.ts";
import { ownerUrl } from "../../db/locate.ts";
import { openClient } from "../database.ts";
import { DataDirs } from "../service.ts";

const dataDirs = new DataDirs();
const opened: Embedded[] = [];
const said: string[] = [];

async function open(dataDir: string): Promise<Embedded> {
  const embedded = await openEmbedded({ dataDir, log: (line) => said.push(line) });
  opened.push(embedded);
  return embedded;
}

afterEach(async () => {
  for (const embedded of opened.splice(0)) await embedded.stop();
  await dataDirs.remove();
  said.length = 0;
});

describe("the lock of a folder", () => {
  const lockedFolder = async (): Promise<string> => {
    const folder = await dataDirs.make();
    await mkdir(folder);
    return folder;
  };

  it("is had by one at a time, and can be had again when it is given back", async () => {
    const folder = await lockedFolder();
    const unlock = await takeLock(folder);

    await expect(takeLock(folder)).rejects.toThrow(DataDirInUse);
    await unlock();
    await (
      await takeLock(folder)
    )();
    // Nothing piles up.
    expect(await readdir(folder)).toHaveLength(1);
  });

  it("is had by one of many that find a dead holder's in the same moment", async () => {
    const folder = await lockedFolder();
    const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    const pid = child.pid!;
    await once(child, "close");
    await writeFile(join(folder, "lock.7"), JSON.stringify({ pid, birth: "" }));

    const taken = await Promise.allSettled(Array.from({ length: 20 }, () => takeLock(folder)));

    expect(taken.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  // Only Linux says when a process was born.
  const onLinux = process.platform === "linux" ? it : it.skip;
  onLinux("is no longer had by a process whose number another one got", async () => {
    const folder = await lockedFolder();
    const birth = await birthOf(process.pid);
    await writeFile(
      join(folder, "lock.1"),
      JSON.stringify({ pid: process.pid, birth: `${birth}0` }),
    );

    await expect(takeLock(folder)).resolves.toBeInstanceOf(Function);
  });
});

it("says that npm ran no install scripts where the links of its libraries are missing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dex-native-"));
  const native = join(folder, "native");
  await mkdir(native);
  const link = { source: "native/libpq.so.5.18", target: "native/libpq.so" };
  await writeFile(join(native, "pg-symlinks.json"), JSON.stringify([link]));

  await expect(checkLinks(native)).rejects.toThrow(
    `${join(native, "libpq.so")} is missing, since npm ran no install scripts`,
  );
  await writeFile(join(native, "libpq.so"), "");
  await checkLinks(native);
  await rm(folder, { recursive: true });
});

it("keeps the key to its data to its user", async () => {
  const dataDir = await dataDirs.make();
  await open(dataDir);

  expect((await stat(join(dataDir, "connection.json"))).mode & 0o777).toBe(0o600);
});

it("makes the databases and the roles, migrated, for commands to find", async () => {
  const dataDir = await dataDirs.make();
  const { url } = await open(dataDir);

  expect(await ownerUrl({ DATA_DIR: dataDir })).toBe(url);
  await using reader = await openClient(url, { role: "dex_reader" });
  const { rows } = await reader.query(
    "select datname from pg_database where datname like 'dex%' order by datname",
  );
  expect(rows).toEqual([{ datname: "dex" }, { datname: "dex_shadow" }]);
  expect((await reader.query("select from dex_market")).rows).toEqual([]);
  await expect(reader.query("delete from dex_trade")).rejects.toThrow();
});

it("begins anew where its making was interrupted", async () => {
  const dataDir = await dataDirs.make();
  await mkdir(join(dataDir, "postgres.unfinished-0123/base"), { recursive: true });
  await writeFile(join(dataDir, "postgres.unfinished-0123/PG_VERSION"), "18\n");
  await writeFile(
    join(dataDir, "connection.json"),
    JSON.stringify({ host: "127.0.0.1", port: 0, password: "forgotten" }),
  );

  await open(dataDir);

  expect((await readdir(dataDir)).filter((name) => name.startsWith("postgres"))).toEqual([
    "postgres",
  ]);
});

it("has a login for reading that can become no other role, with a password of this start", async () => {
  const dataDir = await dataDirs.make();
  const first = await open(dataDir);
  await first.stop();
  const { readerUrl } = await open(dataDir);

  await using client = await openClient(readerUrl, { role: "dex_reader" });
  await client.query("select from dex_trade");
  await client.query("set role none");
  for (const role of ["postgres", "dex_owner", "dex_writer"]) {
    await expect(client.query(`set role ${role}`)).rejects.toThrow(/permission denied/);
  }
  expect(new URL(readerUrl).password).not.toBe(new URL(first.readerUrl).password);
  expect(said).toEqual([]);
});

it("refuses data of another major version, and leaves them as they are", async () => {
  const dataDir = await dataDirs.make();
  await mkdir(join(dataDir, "postgres"), { recursive: true });
  await writeFile(join(dataDir, "postgres/PG_VERSION"), "12\n");

  await expect(open(dataDir)).rejects.toThrow(
    new RegExp(`^DATA_DIR ${dataDir} holds data of PostgreSQL 12, and this is PostgreSQL \\d+,`),
  );
  expect(await readdir(join(dataDir, "postgres"))).toEqual(["PG_VERSION"]);
  // The lock is given back.
  await (
    await takeLock(dataDir)
  )();
});

it("refuses data whose password is lost", async () => {
  const dataDir = await dataDirs.make();
  await (await open(dataDir)).stop();
  await rm(join(dataDir, "connection.json"));

  await expect(open(dataDir)).rejects.toThrow("the connection.json with its password is gone");
});

it("starts on a server's remains whose process number another process got", async () => {
  const dataDir = await dataDirs.make();
  const first = await open(dataDir);
  await first.stop();
  await writeFile(join(first.clusterDir, "postmaster.pid"), `${process.pid}\n`);

  expect((await open(dataDir)).adopted).toBe(false);
});

it("says what to do where nothing runs", async () => {
  const dataDir = await dataDirs.make();
  await expect(ownerUrl({ DATA_DIR: dataDir })).rejects.toThrow(
    `There is no embedded database in ${dataDir}. Start one with \`npm start\``,
  );

  await (await open(dataDir)).stop();
  await expect(ownerUrl({ DATA_DIR: dataDir })).rejects.toThrow(
    `The embedded database in ${dataDir} does not answer`,
  );
});

// Below /proc Node's own way to make folders never ends.
const onLinux = process.platform === "linux" ? it : it.skip;

onLinux.each([
  ["/proc/data/of/ours", "ENOENT"],
  ["/dev/null/data", "ENOTDIR"],
])("refuses %s, where no folder can be made", async (dataDir, code) => {
  await expect(open(dataDir)).rejects.toThrow(`DATA_DIR ${dataDir} cannot be made: ${code}`);
});

it.each(['a"b', "a$b", "a`b", "a\\b"])(
  "refuses %s, which a shell reads, and makes nothing",
  async (name) => {
    const home = await mkdtemp(join(tmpdir(), "dex-home-"));
    await expect(open(join(home, name))).rejects.toThrow("with which PostgreSQL cannot be started");
    expect(await readdir(home)).toEqual([]);
    await rm(home, { recursive: true });
  },
);

const asRoot = isRoot() ? it : it.skip;

asRoot("keeps root's data where PostgreSQL's account can reach them, and says so", async () => {
  const home = await mkdtemp(join(tmpdir(), "dex-home-"));
  const dataDir = join(home, "data");
  const first = await open(dataDir);
  const { clusterDir } = first;
  try {
    expect(clusterDir.startsWith(`${SYSTEM_DIR}/data-`)).toBe(true);
    await first.stop();
    expect((await open(dataDir)).clusterDir).toBe(clusterDir);

    // A DATA_DIR that was deleted takes its data along: they are kept, and out of the way.
    await opened.pop()?.stop();
    await rm(dataDir, { recursive: true });
    await open(dataDir);
    expect(said.join()).toContain(`are still in ${clusterDir}-until-`);
  } finally {
    for (const embedded of opened.splice(0)) await embedded.stop();
    await rm(home, { recursive: true });
    for (const name of await readdir(SYSTEM_DIR)) {
      const path = join(SYSTEM_DIR, name);
      if (path.startsWith(clusterDir)) await rm(path, { recursive: true });
    }
  }
});
