// Holds the README to what the service says: each command and query on it is run on the data that
// it loads, and must give what stands below it. `npm run readme:print` writes the answers anew.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answeredPage } from "./answered-page.ts";
import { makeTestApp, type TestApp } from "./app.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";
import { runFile } from "./service.ts";

const README = fileURLToPath(new URL("../README.md", import.meta.url));

let database: TestDatabase;
let app: TestApp;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "readme-"));
  database = await makeDatabase();
  app = await makeTestApp(database.reader);
});
afterAll(async () => {
  await app.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

/** Runs a command of the README as it stands there, on the test database. */
async function outputOf(command: string): Promise<string> {
  const curl = /^curl '?http:\/\/localhost:3000([^']*)'?$/.exec(command);
  if (curl !== null) return (await app.request.get(curl[1]!)).text;
  const post = /^curl http:\/\/localhost:3000\/graphql --json '(.*)'$/.exec(command);
  if (post !== null) {
    return (await app.request.post("/graphql").type("json").accept("json").send(post[1])).text;
  }
  const script = /^npm run (simulate|load) -- (.*)$/.exec(command);
  if (script === null) throw new Error(`this test cannot run: ${command}`);
  const args = script[2]!.split(" ").map((arg) => (arg === "exchange" ? folder : arg));
  const { code, stdout, stderr } = await runFile(
    `db/commands/${script[1]!}.ts`,
    { DATABASE_OWNER_URL: database.url },
    args,
  ).ended;
  if (code !== 0) throw new Error(stderr);
  return stdout.trim().replaceAll(folder, "exchange");
}

it("prints what the service really answers", async () => {
  const text = await readFile(README, "utf8");
  const current = await answeredPage(text, {
    run: outputOf,
    ask: async (query) => {
      const asking = app.request.post("/graphql").set("accept", "application/json");
      return (await asking.send({ query })).body as unknown;
    },
  });
  if (process.env["WRITE_README"] !== undefined) await writeFile(README, current);
  expect(current.match(/^\$ curl/gm)?.length).toBeGreaterThanOrEqual(17);
  expect(await readFile(README, "utf8")).toBe(current);
});
