// The files of deploy/: what they name is there, and HAProxy and PostgreSQL take them.
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { parse } from "yaml";
import { connect } from "../../db/connect.ts";
import { settings } from "../../server/config.ts";
import { clusterUrl } from "../database.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const DEPLOY = join(REPOSITORY, "deploy");
const textOf = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

interface ComposeService {
  image?: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  depends_on?: Record<string, unknown> | string[];
  configs?: { source: string }[];
}
interface Compose {
  services: Record<string, ComposeService>;
  volumes?: Record<string, unknown>;
  configs?: Record<string, { content: string }>;
}

/** ${NAME:-default}, as with none of them given. */
const composeOf = (file: string): Compose =>
  parse(textOf(`deploy/${file}`).replace(/\$\{\w+:-(\w*)\}/g, "$1"), { merge: true }) as Compose;

const whole = composeOf("compose.yaml");
const pooled = composeOf("pgbouncer.yaml");
const OURS = "dex-market-data";
const known = new Set(settings().map(({ name }) => name));
const all = [...Object.entries(whole.services), ...Object.entries(pooled.services)];

const PROGRAM = ["/usr/sbin/haproxy", "/usr/bin/haproxy"].find((path) => existsSync(path));
const itWithHaproxy =
  PROGRAM === undefined
    ? (what: string, test: () => Promise<void>) =>
        it.skip(`${what}: not tested, since this machine has none (apt-get install haproxy)`, test)
    : it;

const balancer = whole.services["balancer"]?.environment ?? {};
const oneMachine = parseEnv(textOf("deploy/one-machine.env")) as Record<string, string>;

it("gives the services settings that exist, whose values are taken", () => {
  const ours = all.filter(
    ([name, { image }]) => image === OURS || (image === undefined && name.startsWith("service-")),
  );
  expect(ours.map(([name]) => name)).toEqual([
    ...["migrate", "service-one", "service-two", "service-three", "simulator"],
    ...["service-one", "service-two", "service-three"],
  ]);
  for (const [name, { environment = {} }] of ours) {
    const unknown = Object.keys(environment).filter((variable) => !known.has(variable));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});

it("names settings, in docs/scale.md, that exist", () => {
  const page = textOf("docs/scale.md");
  const named = [...page.matchAll(/\b([A-Z]+(?:_[A-Z]+)+|PORT|PREPARE)=/g)].map(
    ([, name]) => name!,
  );
  expect(named).toContain("MAX_REPLICA_LAG");
  expect(named.filter((name) => !known.has(name) && !(name in oneMachine))).toEqual([]);
});

it("mounts files that there are, and waits for services that there are", () => {
  const services = new Set(all.map(([name]) => name));
  for (const [name, { volumes = [], depends_on = {}, command = [], configs = [] }] of all) {
    for (const volume of volumes) {
      const [from = ""] = volume.split(":");
      const isThere = from.startsWith(".")
        ? existsSync(normalize(join(DEPLOY, from)))
        : from in (whole.volumes ?? {});
      expect({ name, from, isThere }).toEqual({ name, from, isThere: true });
    }
    const waits = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    expect(waits.filter((other) => !services.has(other))).toEqual([]);
    expect(configs.filter(({ source }) => !(source in (pooled.configs ?? {})))).toEqual([]);
    for (const [file] of command.join(" ").matchAll(/\bdb\/commands\/\w+\.ts/g)) {
      expect({ file, isThere: existsSync(join(REPOSITORY, file)) }).toEqual({
        file,
        isThere: true,
      });
    }
  }
});

it("gives HAProxy every address that its configuration names", () => {
  const named = [...textOf("deploy/haproxy.cfg").matchAll(/"\$\{(\w+)\}"/g)].map(
    ([, name]) => name ?? "",
  );
  for (const given of [balancer, oneMachine]) {
    expect([...new Set(named)].filter((name) => !(name in given))).toEqual([]);
  }
});

itWithHaproxy("HAProxy takes its configuration, for one machine and for containers", async () => {
  for (const env of [balancer, oneMachine]) {
    await promisify(execFile)(PROGRAM ?? "", ["-c", "-q", "-f", join(DEPLOY, "haproxy.cfg")], {
      env: { ...process.env, ...env },
    });
  }
});

it("PostgreSQL takes its settings", async () => {
  const lines = textOf("deploy/postgresql.conf").split("\n");
  const given = lines.flatMap((line) => {
    const [, name, value] = /^(\w+) = '?([^']+)'?$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
  expect(lines.filter((line) => line !== "" && !line.startsWith("#"))).toHaveLength(given.length);
  const client = await connect(clusterUrl());
  try {
    // It checks the value before it says that the setting is not for a session.
    for (const { name, value } of given) {
      const { rows } = await client.query("select from pg_settings where name = $1", [name]);
      expect({ name, count: rows.length }).toEqual({ name, count: 1 });
      await client
        .query(`select set_config($1, $2, true)`, [name, value])
        .catch((error: unknown) => {
          expect(String(error)).toMatch(/cannot be (changed|set)/);
        });
    }
  } finally {
    await client.end();
  }
});

it("has the login of docs/deployment.md for PgBouncer, which a test of that page runs", () => {
  const [, statements] = /```sql\n([^]*?)```/.exec(textOf("docs/deployment.md")) ?? [];
  expect(textOf("deploy/login.sql")).toContain(statements);
});

it("has scripts that a shell takes", async () => {
  for (const script of ["primary.sh", "standby.sh"]) {
    await promisify(execFile)("sh", ["-n", join(DEPLOY, script)]);
  }
});
