// The image is built by buildah over a base made by debootstrap. podman runs the services of compose.yaml in it: read-only,
// without capabilities, and by an account that may do nothing.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { connect, type Client } from "../../db/connect.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { Engine, type Image } from "./engine.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

interface ComposeService {
  command?: string[];
  environment?: Record<string, string>;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  depends_on?: Record<string, { condition: string }>;
}
interface Compose {
  services: Record<string, ComposeService>;
  configs: Record<string, { content: string }>;
}

let engine: Engine;
let image: Image;
let compose: Compose;
let database: TestDatabase;
let admin: Client;
const running: ChildProcess[] = [];

beforeAll(async () => {
  engine = await Engine.open();
  image = await engine.build(REPOSITORY, process.execPath);
  const obstacle = await engine.obstacle();
  if (obstacle !== undefined) throw new Error(`podman cannot run the image here: ${obstacle}`);
  const text = await readFile(join(REPOSITORY, "compose.yaml"), "utf8");
  // ${NAME:-default}, as with none of them given.
  compose = parse(text.replace(/\$\{\w+:-(\w*)\}/g, "$1"), { merge: true }) as Compose;
  database = await makeDatabase({ migrated: false });
  admin = await connect(database.url);
}, 900_000);
afterAll(async () => {
  await engine.close();
  for (const child of running) {
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await admin.query("drop owned by app").catch(() => undefined);
  await admin.end();
  await database.drop();
  await using last = await openClient(clusterUrl());
  await last.query("drop role if exists app");
});

/** Runs the image, or another command in it. */
function runInImage(
  env: Record<string, string>,
  command?: string[],
): { name: string; child: ChildProcess } {
  const container = engine.run(env, command);
  running.push(container.child);
  return container;
}

/** The environment of a service of compose.yaml, with this run's database for its own. */
function environmentOf(service: string): Record<string, string> {
  const { host, pathname, username, password } = new URL(database.url);
  return Object.fromEntries(
    Object.entries(compose.services[service]!.environment ?? {}).map(([name, value]) => {
      const url = new URL(value);
      expect([url.host, url.pathname]).toEqual(["database:5432", "/market"]);
      if (url.username === "postgres") {
        url.username = username;
        url.password = password;
      }
      return [name, Object.assign(url, { host, pathname }).href];
    }),
  );
}

async function ended(child: ChildProcess): Promise<{ code: number | null; printed: string }> {
  let printed = "";
  child.stdout?.on("data", (text: Buffer) => (printed += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (printed += text.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, printed };
}

/** Asks until it is so. Each time is a request, so nothing spins. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it("has the major version of Node that the tests run on, whatever the base", async () => {
  const [major] = process.versions.node.split(".");
  const dockerfile = await readFile(join(REPOSITORY, "Dockerfile"), "utf8");
  expect(dockerfile).toMatch(new RegExp(`^ARG BASE=node:${major}\\b`, "m"));
});

it("is run by an account that owns nothing, as compose.yaml asks", () => {
  expect(image.user).toBe("node");
  for (const service of ["migrate", "service", "simulator"]) {
    expect(compose.services[service]).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
  }
});

it("holds what is run, and neither tests nor tools, in less than 300 MB with its base", async () => {
  const root = join(image.root, image.workdir);
  expect((await readdir(root)).sort()).toEqual(
    [
      ...[".gmrc", "package.json", "node_modules", "traces"],
      ...["chain", "db", "graphql", "http", "market", "packages", "page", "rest", "server"],
    ].sort(),
  );
  const packages = await readdir(join(root, "node_modules"));
  for (const left of ["jest", "typescript", "playwright-core", "monaco-editor", "selfsigned"]) {
    expect(packages).not.toContain(left);
  }
  expect(image.bytes).toBeLessThan(300_000_000);
});

describe("compose's services, one after the other", () => {
  let service: ReturnType<typeof runInImage>;
  let url: string;

  it("the database gets its login, and migrate makes roles and schema", async () => {
    await admin.query("drop role if exists app");
    await admin.query(compose.configs["login"]!.content);

    const migrated = await ended(
      runInImage(environmentOf("migrate"), compose.services["migrate"]!.command).child,
    );

    expect([migrated.code, migrated.printed]).toEqual([
      0,
      expect.stringContaining("app may become dex_reader."),
    ]);
  });

  it("the service serves it through a login that only reads, and is healthy", async () => {
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;

    service = runInImage({
      ...environmentOf("service"),
      ...{ HOST: "127.0.0.1", PORT: port },
      // Away: the packages that send traces are in the image, and hold up nothing.
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    });
    let printed = "";
    service.child.stdout?.on("data", (text: Buffer) => (printed += text.toString()));
    await until(async () => (await fetch(`${url}/ready`)).ok);

    expect(await engine.healthy(service.name)).toBe(true);
    expect(printed).not.toContain("superuser");
    expect(printed).not.toContain("dex_owner");
  });

  it("the simulator trades, and both interfaces and their pages show it", async () => {
    runInImage(environmentOf("simulator"), compose.services["simulator"]!.command);

    const count = await until(async () => {
      const answer = await fetch(`${url}/graphql`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify({ query: "{ allDexTrades { totalCount } }" }),
      });
      const { data } = (await answer.json()) as {
        data: { allDexTrades: { totalCount: number } };
      };
      return data.allDexTrades.totalCount;
    });
    const markets = (await (await fetch(`${url}/v1/markets/`)).json()) as { data: object };
    const pages = await Promise.all(
      ["/graphiql", "/docs"].map(async (path) => (await fetch(`${url}${path}`)).text()),
    );
    const files = pages.map((page) =>
      [...page.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, file]) => file!),
    );

    expect(count).toBeGreaterThan(0);
    expect(Object.keys(markets.data)).toContain("WETH/DAI");
    for (const ofPage of files) expect(ofPage.length).toBeGreaterThan(0);
    for (const file of files.flat()) expect((await fetch(`${url}${file}`)).status).toBe(200);
  });

  it("the service ends at SIGTERM, and then is not healthy", async () => {
    const end = ended(service.child);
    await engine.stop(service.name);

    expect((await end).code).toBe(0);
    expect(await engine.healthy(service.name)).toBe(false);
  });
});

it("says what it needs where it is given no database", async () => {
  const env = { DATA_DIR: "/tmp/nowhere", PORT: "0" };
  const { code, printed } = await ended(runInImage(env).child);

  expect(code).toBe(1);
  expect(printed).toMatch(/Give DATABASE_URL/);
});
