// DuckDB in a page of another origin reads the served Parquet over HTTP by its own means, by ranges, and gets the figures of REST
// to the last digit. 1.28.0 (DuckDB 0.9.1) is the last release of its package that has a reader of Parquet: later ones fetch theirs.
import express from "express";
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportDays } from "../../db/export/export-days.ts";
import { readManifest, type ListedFile } from "../../db/export/manifest.ts";
import { describeInChromium, useBrowser, type Opened } from "../browser.ts";
import { serveDatabase } from "../served.ts";
import { fillDays, itHasFigures } from "./duckdb-figures.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const PACKAGES = here("duckdb/node_modules");

const IMPORTS = {
  "@duckdb/duckdb-wasm": "/duckdb-browser.mjs",
  "apache-arrow": "/apache-arrow/Arrow.dom.mjs",
  flatbuffers: "/flatbuffers/mjs/flatbuffers.js",
  tslib: "/tslib/tslib.es6.mjs",
};

const PAGE = `<link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;

const dir = mkdtempSync(join(tmpdir(), "dex-duckdb-"));

const { app, database } = serveDatabase(fillDays, { filesDir: dir });

describeInChromium("DuckDB in a page", () => {
  const browser = useBrowser();
  const site = createServer();
  const asked: { req: IncomingMessage; res: ServerResponse }[] = [];
  let files: ListedFile[];
  let opened: Opened;

  beforeAll(async () => {
    await exportDays({ url: database.url, dir, finality: 64 });
    const { days } = (await readManifest(dir))!;
    files = days.flatMap((day) => day.files).filter(({ name }) => name.endsWith(".parquet"));
    app.server.on("request", (req, res) => asked.push({ req, res }));
    const [, lines] = /```js\n(.*?)```/s.exec(await readFile(here("../../docs/files.md"), "utf8"))!;
    const script = lines!
      .replace("http://localhost:3000", app.url)
      .replace(/\d{4}-\d\d-\d\d/, days[0]!.day);
    const pages = express()
      .get("/", (_, res) => void res.send(PAGE))
      .get("/lines.js", (_, res) => {
        res.type("js").send(`${script}; export { connection, table };`);
      })
      .use(express.static(join(PACKAGES, "@duckdb/duckdb-wasm/dist")), express.static(PACKAGES));
    site.on("request", pages);
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    opened = await browser.open(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    site.closeAllConnections();
    await new Promise((resolve) => site.close(resolve));
    await rm(dir, { recursive: true });
  });

  /** Runs the lines of docs/files.md once, before the first code. */
  const inPage = (code: string): Promise<unknown> =>
    opened.page.evaluate(`import("/lines.js").then(async ({ connection, table }) => ${code})`);

  /** Without its extension for time zones it can only compare times that have one: they are in UTC. */
  const filesOf = (_: string, kind: string, day: string): string => {
    const urls = files
      .filter((file) => file.kind === kind && (day === "*" || file.name.includes(day)))
      .map(({ name }) => `'${app.url}/v2/files/${name}'`);
    return `(select * replace (time::timestamp as time) from read_parquet([${urls.join(", ")}]))`;
  };

  const rowsOf = async (text: string): Promise<unknown[][]> => {
    const question = text.replaceAll(/'files\/(\w+)-([-\d]+|\*)\.parquet'/g, filesOf);
    const rows = `(await connection.query(${JSON.stringify(question)})).toArray()`;
    return (await inPage(`${rows}.map((row) => [...row].map(([, value]) => value))`)) as [];
  };

  const rangesOf = (name: string): string[] =>
    asked
      .filter(({ req }) => req.method === "GET" && req.url!.endsWith(name))
      .map(({ req, res }) => `${res.statusCode} ${req.headers.range ?? "all"}`);

  // Before the others, which read more of the file.
  it("counts rows by the lines of docs/files.md, and reads a part of the file for it", async () => {
    const { name, rows, bytes } = files.find(({ kind }) => kind === "trades")!;
    expect(await inPage("table.toArray().map(({ trades }) => Number(trades))")).toEqual([rows]);
    const read = rangesOf(name).map((range) => {
      const [, start, end] = /^206 bytes=(\d+)-(\d+)$/.exec(range)!;
      return Number(end) - Number(start) + 1;
    });
    expect(read.length).toBeGreaterThan(0);
    expect(read.reduce((sum, length) => sum + length)).toBeLessThan(bytes);
    expect(opened.complaints).toEqual([]);
  });

  itHasFigures(app, rowsOf);

  it("asks for ranges alone", () => {
    for (const range of rangesOf(".parquet")) expect(range).toMatch(/^206 bytes=\d+-\d+$/);
  });
});
