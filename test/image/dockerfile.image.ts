// The image and its compose file, carried out step by step without an engine: built in an empty folder,
// read-only, and run by an account that may do nothing.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";
import { connect, type Client } from "../../db/connect.ts";
import { isRoot } from "../../db/embedded/account.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { carryOut, type Image } from "./dockerfile.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const NOBODY = 65_534;

interface ComposeService {
  command?: string[];
  environment?: Record<string, string>;
  read_only?: boolean;
  depends_on?: Record<string, { condition: string }>;
}
interface Compose {
  services: Record<string, ComposeService>;
  configs: Record<string, { content: string }>;
}

let image: Image;
let compose: Compose;
let database: TestDatabase;
let admin: Client;
const running: ChildProcess[] = [];

beforeAll(async () => {
  image = await carryOut(REPOSITORY, process.execPath);
  await setWritable(image.root, false);
  const text = await readFile(join(REPOSITORY, "compose.yaml"), "utf8");
  // ${NAME:-default}, as with none of them given.
  compose = parse(text.replace(/\$\{\w+:-(\w*)\}/g, "$1"), { merge: true }) as Compose;
  database = await makeDatabase({ migrated: false });
  admin = await connect(database.url);
});
afterAll(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await admin.query("drop owned by app").catch(() => undefined);
  await admin.end();
  await database.drop();
  await using last = await openClient(clusterUrl());
  await last.query("drop role if exists app");
  await setWritable(image.root, true);
  await rm(dirname(image.root), { recursive: true, force: true });
});

/** Gives or takes everybody's right to write, in the whole tree. */
async function setWritable(path: string, isWritable: boolean): Promise<void> {
  const { mode } = await lstat(path);
  if ((mode & 0o170000) === 0o120000) return;
  await chmod(path, isWritable ? mode | 0o200 : mode & ~0o222);
  if ((mode & 0o170000) !== 0o040000) return;
  for (const name of await readdir(path)) await setWritable(join(path, name), isWritable);
}

/** Runs a command of the image, as its user would: without rights, and without a home. */
function runInImage(command: string[], env: Record<string, string>): ChildProcess {
  const [program = "", ...args] = command;
  const bin = join(image.root, "usr/local/bin");
  const child = spawn(program === "node" ? join(bin, "node") : program, args, {
    cwd: join(image.root, image.workdir),
    env: { PATH: `${bin}:/usr/bin:/bin`, ...image.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(isRoot() ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  running.push(child);
  return child;
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

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const healthy = (port: number): Promise<number | null> =>
  ended(runInImage(image.healthcheck, { PORT: String(port) })).then(({ code }) => code);

/** Asks until it is so. Each time is a request, so nothing spins. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it("has the major version of Node that the tests run on", () => {
  const [major] = process.versions.node.split(".");
  expect(image.base).toMatch(new RegExp(`^node:${major}\\b`));
});

it("is run by an account that owns nothing", () => {
  expect(image.user).toBe("node");
  for (const service of ["migrate", "service", "simulator"]) {
    expect(compose.services[service]!.read_only).toBe(true);
  }
});

it("holds what is run, and neither tests nor tools", async () => {
  const root = join(image.root, image.workdir);
  expect((await readdir(root)).sort()).toEqual(
    [
      ...[".gmrc", "package.json", "node_modules"],
      ...["chain", "db", "graphql", "http", "market", "packages", "page", "rest", "server"],
    ].sort(),
  );
  const packages = await readdir(join(root, "node_modules"));
  for (const left of ["jest", "typescript", "playwright-core", "monaco-editor", "selfsigned"]) {
    expect(packages).not.toContain(left);
  }
  const { stdout } = await promisify(execFile)("du", ["-sm", join(root, "node_modules")]);
  expect(Number.parseInt(stdout, 10)).toBeLessThan(250);
});

describe("compose's services, one after the other", () => {
  let port: number;
  let service: ChildProcess;
  let url: string;

  it("the database gets its login, and migrate makes roles and schema", async () => {
    await admin.query("drop role if exists app");
    await admin.query(compose.configs["login"]!.content);

    const migrated = await ended(
      runInImage(compose.services["migrate"]!.command!, environmentOf("migrate")),
    );

    expect([migrated.code, migrated.printed]).toEqual([
      0,
      expect.stringContaining("app may become dex_reader."),
    ]);
  });

  it("the service serves it through a login that only reads, and is healthy", async () => {
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    expect(await healthy(port)).toBe(1);

    service = runInImage(image.command, { ...environmentOf("service"), PORT: String(port) });
    let printed = "";
    service.stdout?.on("data", (text: Buffer) => (printed += text.toString()));
    await until(async () => (await fetch(`${url}/ready`)).ok);

    expect(await healthy(port)).toBe(0);
    expect(printed).not.toContain("superuser");
    expect(printed).not.toContain("dex_owner");
  });

  it("the simulator trades, and both interfaces and their pages show it", async () => {
    runInImage(compose.services["simulator"]!.command!, environmentOf("simulator"));

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
    const end = ended(service);
    service.kill("SIGTERM");

    expect((await end).code).toBe(0);
    expect(await healthy(port)).toBe(1);
  });
});

it("says what it needs where it is given no database", async () => {
  const env = { DATA_DIR: "/tmp/nowhere", PORT: "0" };
  const { code, printed } = await ended(runInImage(image.command, env));

  expect(code).toBe(1);
  expect(printed).toMatch(/Give DATABASE_URL/);
});
