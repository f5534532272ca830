// Runs each command and query of the README and of the pages of examples on the data that the README
// loads, and compares the answers. `npm run generate -- readme` writes them anew.
import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { answeredPage } from "./answered-page.ts";
import { useApp, useDatabase } from "./served.ts";
import { runFile } from "./service.ts";

/** The README first: it loads the data. Each with the least number of requests that stand on it. */
const PAGES = [
  ["README.md", 5],
  ["docs/rest.md", 20],
  ["docs/graphql.md", 3],
  ["docs/listings.md", 15],
  ["docs/as-of.md", 10],
  ["docs/files.md", 1],
] as const;

const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "readme-"));
const app = useApp(database, { filesDir: join(folder, "files") });
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Runs a command as it stands on the page, on the test database. */
async function outputOf(command: string): Promise<string> {
  const [, asked, sought] = /^(curl .*) \| grep '(.*)'$/.exec(command) ?? [];
  if (asked !== undefined) {
    const lines = (await outputOf(asked)).split("\n");
    return lines.filter((line) => line.includes(sought!)).join("\n");
  }
  const curl = /^curl '?http:\/\/localhost:3000([^']*)'?$/.exec(command);
  if (curl !== null) return (await app.request.get(curl[1]!)).text;
  const head = /^curl -I http:\/\/localhost:3000(\S+) \| grep -iE '(.*)'$/.exec(command);
  if (head !== null) {
    const { headers } = await app.request.head(head[1]!);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return lines.filter((line) => new RegExp(head[2]!, "i").test(line)).join("\n");
  }
  const post = /^curl http:\/\/localhost:3000\/graphql --json '(.*)'$/.exec(command);
  if (post !== null) {
    return (await app.request.post("/graphql").type("json").accept("json").send(post[1])).text;
  }
  const psql = /^psql -qAtc "(.*)"$/.exec(command);
  if (psql !== null) return asPsql(psql[1]!);
  const read = /^(?:zcat|head -c (\d+)) files\/(\S+)(?: \| head -n (\d+))?$/.exec(command);
  if (read !== null) return startOf(read[2]!, Number(read[1]), Number(read[3]));
  const script = /^(?:DATA_DIR=\.data-own )?npm run (simulate|load|export) -- (.*)$/.exec(command);
  if (script === null) throw new Error(`this test cannot run: ${command}`);
  const args = script[2]!
    .split(" ")
    .map((arg) => (arg === "exchange" ? folder : arg === "files" ? join(folder, arg) : arg));
  const { code, stdout, stderr } = await runFile(
    `db/commands/${script[1]!}.ts`,
    { DATABASE_OWNER_URL: database.url },
    args,
  ).ended;
  if (code !== 0) throw new Error(stderr);
  return stdout.trim().replaceAll(folder, "exchange");
}

/** The first bytes of an exported file, or its first lines. */
async function startOf(name: string, bytes: number, lines: number): Promise<string> {
  const content = await readFile(join(folder, "files", name));
  return name.endsWith(".gz")
    ? gunzipSync(content).toString().split("\n").slice(0, lines).join("\n")
    : content.subarray(0, bytes).toString();
}

/** What `psql -qAt` prints of the last of these statements. */
async function asPsql(statements: string): Promise<string> {
  const client = await database.reader.connect();
  try {
    const results = await client.query({ text: statements, rowMode: "array" });
    const { rows } = [results].flat().at(-1)!;
    return rows.map((row) => row.join("|")).join("\n");
  } finally {
    client.release(true);
  }
}

it.each(PAGES)("%s prints what the service really answers", async (page, leastRequests) => {
  const path = fileURLToPath(new URL(`../${page}`, import.meta.url));
  const text = await readFile(path, "utf8");
  const current = await answeredPage(text, {
    run: outputOf,
    ask: async (query) => {
      const asking = app.request.post("/graphql").set("accept", "application/json");
      return (await asking.send({ query })).body as unknown;
    },
  });
  if (process.env["WRITE_README"] !== undefined) await writeFile(path, current);
  const requests = current.match(/^\$ curl|^```graphql/gm) ?? [];
  expect(requests.length).toBeGreaterThanOrEqual(leastRequests);
  expect(await readFile(path, "utf8")).toBe(current);
});
