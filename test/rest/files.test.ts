// The files of each day as the service serves them, and the page that shows them.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Response } from "supertest";
import { exportDays } from "../../db/export/export-days.ts";
import { ExportedFolder } from "../../db/export/exported-folder.ts";
import { readManifest, type Contents } from "../../db/export/manifest.ts";
import { startExporting } from "../../server/exporting.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, openClient } from "../database.ts";
import { anOffer, aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { useApp, useDatabase } from "../served.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    offers: [anOffer({ id: 1, hour: 1 })],
    trades: [1, 2, 26, 49].map((hour) => aTrade({ hour })),
    head: 50,
  });
});
let dir: string;
let app: TestApp;
let manifest: Contents;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "dex-served-"));
  manifest = (await exportDays({ url: database.url, dir, finality: 64 }))!;
  app = await makeTestApp(database.reader, { filesDir: dir, publicUrl: "https://dex.example" });
  database.beforeDrop(app.close);
});
afterAll(() => rm(dir, { recursive: true }));
const without = useApp(database);

const TRADES = "trades-2026-01-01.parquet";

const bytesOf = (response: Response): Buffer => response.body as Buffer;

/** supertest would make text of it. */
const ask = (name: string, headers: Record<string, string> = {}) =>
  app.request
    .get(`/v2/files/${name}`)
    .set(headers)
    .buffer(true)
    .parse((res, done) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("end", () => done(null, Buffer.concat(chunks)));
    });

it("lets pages of other origins see which bytes they have got", async () => {
  const { headers, status } = await ask(TRADES, { Range: "bytes=4-9" });
  const exposed = String(headers["access-control-expose-headers"]).toLowerCase().split(",");
  expect(status).toBe(206);
  expect(headers["content-range"]).toMatch(/^bytes 4-9\//);
  expect(exposed).toEqual(
    expect.arrayContaining(["etag", "content-digest", "content-range", "accept-ranges"]),
  );
});

it("serves the manifest, compressed where that is accepted, and each file that it lists", async () => {
  const text = await readFile(join(dir, "manifest.json"), "utf8");
  for (const path of ["/v2/files", "/v2/files/", "/v2/files/manifest.json"]) {
    const found = await app.request.get(path).expect(200);
    expect(found.text).toBe(text);
    expect(found.headers).toMatchObject({
      "cache-control": "public, max-age=60",
      "content-encoding": "gzip",
    });
    await app.request.get(path).set("if-none-match", found.headers["etag"]!).expect(304);
  }
  for (const { name, bytes, sha256 } of manifest.days.flatMap(({ files }) => files)) {
    const found = await ask(name).expect(200);
    expect(createHash("sha256").update(bytesOf(found)).digest("hex")).toBe(sha256);
    expect(found.headers).toMatchObject({
      "content-length": String(bytes),
      "cache-control": "public, max-age=31536000, immutable",
      "accept-ranges": "bytes",
      etag: `"${sha256}"`,
    });
    expect(found.headers["content-encoding"]).toBeUndefined();
  }
});

it.each([
  ["bytes=0-3", 0, 4],
  ["bytes=4-", 4, undefined],
  ["bytes=-8", -8, undefined],
  ["bytes=0-999999999", 0, undefined],
  ["bytes=0-99999999999999999999999999", 0, undefined],
  ["Bytes=0-3", 0, 4],
  ["bytes=-999999999", 0, undefined],
])("serves the range %s", async (range, from, to) => {
  const whole = await readFile(join(dir, TRADES));
  const right = whole.subarray(from, to);
  const found = await ask(TRADES, { range }).expect(206);
  expect(bytesOf(found)).toEqual(right);
  const start = from < 0 ? whole.length + from : from;
  expect(found.headers).toMatchObject({
    "content-length": String(right.length),
    "content-range": `bytes ${start}-${start + right.length - 1}/${whole.length}`,
  });
});

it.each(["bytes=0-1", "bytes=9999999999-"])("has no range for HEAD: %s", async (range) => {
  const { headers } = await app.request.head(`/v2/files/${TRADES}`).set({ range }).expect(200);
  expect(headers["content-length"]).toBe(String((await readFile(join(dir, TRADES))).length));
  expect(headers).not.toHaveProperty("content-range");
});

it.each(["bytes=0-1,4-5", "lines=0-1", "bytes=5-2", "bytes=-", "bytes=a-b"])(
  "answers with the whole file where the range is %s",
  async (range) => {
    expect(bytesOf(await ask(TRADES, { range }).expect(200))).toEqual(
      await readFile(join(dir, TRADES)),
    );
  },
);

it("refuses a range behind the end, and keeps to the bytes that If-Range and If-None-Match name", async () => {
  const whole = await readFile(join(dir, TRADES));
  for (const range of [`bytes=${whole.length}-`, "bytes=9999999999999999999-", "bytes=-0"]) {
    const { headers, body } = await app.request
      .get(`/v2/files/${TRADES}`)
      .set({ range })
      .expect(416);
    expect(headers["content-range"]).toBe(`bytes */${whole.length}`);
    expect(body.message).toBe(`The file has ${whole.length} bytes, and Range begins behind them`);
  }
  const etag = `"${createHash("sha256").update(whole).digest("hex")}"`;
  await ask(TRADES, { range: "bytes=0-3", "if-range": etag }).expect(206);
  await ask(TRADES, { range: "bytes=0-3", "if-range": '"other"' }).expect(200);
  await app.request.head(`/v2/files/${TRADES}`).set({ "if-none-match": etag }).expect(304);
  const { headers } = await app.request.head(`/v2/files/${TRADES}`).expect(200);
  expect(headers).toMatchObject({ etag, "content-length": String(whole.length) });
});

it("serves nothing that the manifest does not list, and follows no link", async () => {
  await writeFile(join(dir, "trades-2026-12-31.parquet"), "not listed");
  await writeFile(join(dir, "secret"), "secret");
  for (const name of [
    ...["trades-2026-12-31.parquet", "secret", "nowhere", "lock.1", "..%2fsecret"],
    ...["%2e%2e%2f%2e%2e%2fetc%2fpasswd", "trades-2026-01-01.PARQUET", "%00", `${TRADES}%00`],
    ...[encodeURIComponent(join(dir, TRADES)), "manifest.json%2f", "__proto__"],
  ]) {
    const { status, text } = await app.request.get(`/v2/files/${name}`);
    expect([name, [400, 404].includes(status)]).toEqual([name, true]);
    expect(text).not.toContain('"secret"');
  }
  await app.request.post(`/v2/files/${TRADES}`).expect(405);

  const right = await readFile(join(dir, TRADES));
  await rm(join(dir, TRADES));
  await symlink(join(dir, "secret"), join(dir, TRADES));
  await app.request.get(`/v2/files/${TRADES}`).expect(500);
  await rm(join(dir, TRADES));
  // Node opens files with four threads: a pipe that held them would hold every other file.
  execFileSync("mkfifo", [join(dir, TRADES)]);
  const piped = Array.from({ length: 5 }, () => app.request.get(`/v2/files/${TRADES}`));
  for (const { status } of await Promise.all(piped)) expect(status).toBe(500);
  await rm(join(dir, TRADES));
  // Cut off: nothing of it is served.
  await writeFile(join(dir, TRADES), right.subarray(1));
  await app.request.get(`/v2/files/${TRADES}`).expect(500);
  await writeFile(join(dir, TRADES), right);
  await ask(TRADES).expect(200);
  expect(app.logged.splice(0)).toHaveLength(7);
});

it("says where there are no files", async () => {
  for (const path of ["/v2/files", "/v2/files/manifest.json", `/v2/files/${TRADES}`]) {
    const { body } = await without.request.get(path).expect(404);
    expect(body.message).toBe("No such file: no day has been exported");
  }
  const { headers, text } = await without.request.get("/files").expect(404);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(text).toContain("With <code>FILES_DIR</code> the service exports each day");
});

it("shows people the days with links and sizes, and the statements of DuckDB", async () => {
  const { text } = await app.request.get("/files").expect(200);
  expect(text).toContain(`<a href="/v2/files/${TRADES}">Parquet</a>`);
  expect(text).toContain("set variable base = &#39;https://dex.example/v2/files/&#39;;");
  expect(text.indexOf("2026-01-02</th>")).toBeLessThan(text.indexOf("2026-01-01</th>"));
});

it("names its own port in the statements of DuckDB where it has no public address, whatever Host is sent", async () => {
  await using local = await makeTestApp(database.reader, { filesDir: dir });
  for (const host of ["evil.example", new URL(local.url).host]) {
    const { text } = await local.request.get("/files").set("host", host).expect(200);
    const { port } = new URL(local.url);
    expect(text).toContain(`set variable base = &#39;http://localhost:${port}/v2/files/&#39;;`);
  }
});

it("makes the page of a manifest once, however often it is asked for", async () => {
  const listing = (await new ExportedFolder(dir).listing())!;
  let made = 0;
  const counted = {
    ...listing,
    get contents() {
      made += 1;
      return listing.contents;
    },
  };
  const spy = jest.spyOn(ExportedFolder.prototype, "listing").mockResolvedValue(counted);
  try {
    for (let n = 0; n < 3; n += 1) await app.request.get("/files").expect(200);
    expect(made).toBe(1);
  } finally {
    spy.mockRestore();
  }
});

it("stops though an export waits for a lock", async () => {
  const into = await mkdtemp(join(tmpdir(), "dex-exporting-"));
  await using locking = await openClient(database.url);
  await locking.query("begin");
  await locking.query("lock table dex_trade in access exclusive mode");
  const lines: string[] = [];
  const exporting = startExporting({
    ...{ dir: into, db: database.reader, finality: 64, killAfterMs: 20 },
    env: { ...process.env, DATABASE_OWNER_URL: "", DATABASE_URL: database.url },
    log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
  });
  // A transaction has one look at what others wait for.
  await using looking = await openClient(database.url);
  for (let waiting = 0; waiting === 0;) {
    const { rows } = await looking.query<{ count: number }>(
      "select count(*)::int from pg_stat_activity where datname = current_database() and application_name = 'dex export' and wait_event_type = 'Lock'",
    );
    waiting = rows[0]!.count;
  }
  await exporting.stop();
  expect(lines).toEqual([]);
  await rm(into, { recursive: true });
});

it("exports each day by itself when it is final, and says once why it does not", async () => {
  const into = await mkdtemp(join(tmpdir(), "dex-exporting-"));
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const start = (env: NodeJS.ProcessEnv) =>
    startExporting({
      ...{ dir: into, db: database.reader, finality: 64, everyMs: 5 },
      env: { ...process.env, DATABASE_OWNER_URL: "", ...env },
      log: { info: log, warn: log },
    });
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  try {
    const failing = start({ DATABASE_URL: "mysql://nowhere" });
    await until(() => lines.length > 0);
    await failing.stop();
    expect(lines.splice(0)).toEqual([
      expect.stringContaining("The files of each day are not exported: DATABASE_URL") as string,
    ]);
    const exporting = start({ DATABASE_URL: database.url });
    await until(() => lines.length === 2);
    await exporting.stop();
    expect(await readManifest(into)).toEqual(manifest);
    expect(lines[0]).toMatch(
      /^2026-01-01: 2 blocks, 2 trades, 1 offers, 0 ends, 2 candles; \d+ bytes/,
    );
  } finally {
    await rm(into, { recursive: true });
  }
});

it("says at once which exported day was taken back, also where no other day is final", async () => {
  const into = await mkdtemp(join(tmpdir(), "dex-exporting-"));
  await using other = await makeDatabase();
  await write(other.writer, {
    trades: [1, 26, 49, 50].map((hour) => aTrade({ hour, offer_id: null })),
  });
  await using locking = await openClient(other.url);
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const exporting = startExporting({
    ...{ dir: into, db: other.reader, finality: 64, everyMs: 5 },
    env: { ...process.env, DATABASE_OWNER_URL: "", DATABASE_URL: other.url },
    log: { info: log, warn: log },
  });
  const until = async (count: number): Promise<void> => {
    while (lines.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  try {
    await until(2);
    // What looks for final days sees all of it or nothing.
    await locking.query("begin");
    await locking.query("select ingest.take_back($1)", [blockAt(1)]);
    for (const hour of [26, 49, 50]) {
      await locking.query("select ingest.write_block($1, $2, trades => $3)", [
        ...[blockAt(hour), aTrade({ hour }).time],
        JSON.stringify([aTrade({ hour, offer_id: null, base: "2" })]),
      ]);
    }
    await locking.query("commit");
    await until(3);
    expect(lines[2]).toMatch(
      /^The files of each day are not exported: the folder is of other facts: at the end of 2026-01-02 its digest is 0x/,
    );
    expect((await readManifest(into))?.days).toHaveLength(2);
  } finally {
    await exporting.stop();
    await rm(into, { recursive: true });
  }
});

it("compares the listed days at the start, also where no day is final", async () => {
  const into = await mkdtemp(join(tmpdir(), "dex-exporting-"));
  await exportDays({ url: database.url, dir: into, finality: 64 });
  await using empty = await makeDatabase();
  const warned = Promise.withResolvers<string>();
  const exporting = startExporting({
    ...{ dir: into, db: empty.reader, finality: 64, everyMs: 5 },
    env: { ...process.env, DATABASE_OWNER_URL: "", DATABASE_URL: empty.url },
    log: { info: () => undefined, warn: warned.resolve },
  });
  expect(await warned.promise).toBe(
    "The files of each day are not exported: no block with rows was ever written",
  );
  await exporting.stop();
  await rm(into, { recursive: true });
});
