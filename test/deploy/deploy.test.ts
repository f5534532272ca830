// The files of deploy/: what they name is there, and HAProxy and PostgreSQL take them.
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { parse } from "yaml";
import { settings } from "../../server/settings.ts";
import { clusterUrl, openClient } from "../database.ts";

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
const BY_PATRONI = ["haproxy.cfg", "writers.cfg"];
const oneMachine = parseEnv(textOf("deploy/one-machine.env")) as Record<string, string>;

const BALANCERS = [
  { files: BY_PATRONI, env: balancer },
  { files: BY_PATRONI, env: oneMachine },
  { files: ["haproxy.cfg", "writers-by-hand.cfg"], env: oneMachine },
];

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

it("names settings, in docs/scale.md and its script, that exist", () => {
  const page = textOf("docs/scale.md") + textOf("deploy/one-machine.sh");
  const named = [...page.matchAll(/\b([A-Z]+(?:_[A-Z]+)+|PORT|PREPARE)=/g)].map(
    ([, name]) => name!,
  );
  expect(named).toEqual(expect.arrayContaining(["MAX_REPLICA_LAG", "MAX_HEAD_AGE"]));
  const others = named.filter((name) => !known.has(name) && !(name in oneMachine));
  expect(others.filter((name) => !name.startsWith("PATRONI_"))).toEqual([]);
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
  for (const { files, env } of BALANCERS) {
    const text = files.map((file) => textOf(`deploy/${file}`)).join("\n");
    const named = [...text.matchAll(/"\$\{(\w+)\}"/g)].map(([, name]) => name ?? "");
    expect([...new Set(named)].filter((name) => !(name in env))).toEqual([]);
  }
});

itWithHaproxy("HAProxy takes its configuration, for one machine and for containers", async () => {
  for (const { files, env } of BALANCERS) {
    const read = files.flatMap((file) => ["-f", join(DEPLOY, file)]);
    await promisify(execFile)(PROGRAM ?? "", ["-c", "-q", ...read], {
      env: { ...process.env, ...env },
    });
  }
});

it("every server that HAProxy disconnects from when it is down is checked, or tracks one that is", () => {
  for (const file of ["haproxy.cfg", "writers.cfg", "writers-by-hand.cfg"]) {
    const sections = textOf(`deploy/${file}`).split(/^(?=\S)/m);
    for (const section of sections.filter((one) => one.includes("on-marked-down"))) {
      const usual = /^ +default-server .*\bcheck\b/m.test(section);
      const unchecked = section
        .split("\n")
        .filter((line) => /^ +server /.test(line) && !usual && !/\b(check|track)\b/.test(line));
      expect({ file, unchecked }).toEqual({ file, unchecked: [] });
    }
  }
});

it("Patroni gives PostgreSQL the settings that a cluster without it has", () => {
  const { bootstrap } = parse(textOf("deploy/patroni.yml")) as {
    bootstrap: { dcs: { postgresql: { parameters: Record<string, string | number> } } };
  };
  const byPatroni = Object.entries(bootstrap.dcs.postgresql.parameters);
  const byHand = [...textOf("deploy/postgresql.conf").matchAll(/^(\w+) = '?([^'\n]+)'?$/gm)];
  expect(byPatroni.map(([name, value]) => [name, String(value)]).toSorted()).toEqual(
    byHand
      .map(([, name, value]) => [name, value])
      // Patroni has it on by itself.
      .filter(([name]) => name !== "wal_log_hints")
      .toSorted(),
  );
});

it("PostgreSQL takes its settings", async () => {
  const lines = textOf("deploy/postgresql.conf").split("\n");
  const given = lines.flatMap((line) => {
    const [, name, value] = /^(\w+) = '?([^']+)'?$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
  expect(lines.filter((line) => line !== "" && !line.startsWith("#"))).toHaveLength(given.length);
  await using client = await openClient(clusterUrl());
  // It checks the value before it says that the setting is not for a session.
  for (const { name, value } of given) {
    const { rows } = await client.query("select from pg_settings where name = $1", [name]);
    expect({ name, count: rows.length }).toEqual({ name, count: 1 });
    await client.query(`select set_config($1, $2, true)`, [name, value]).catch((error: unknown) => {
      // The embedded PostgreSQL is built without zstd.
      expect(String(error)).toMatch(/cannot be (changed|set)|"wal_compression": "zstd"/);
    });
  }
});

it("has the login of docs/deployment.md for PgBouncer, which a test of that page runs", () => {
  const [, statements] = /```sql\n([^]*?)```/.exec(textOf("docs/deployment.md")) ?? [];
  expect(textOf("deploy/login.sql")).toContain(statements);
  const [, pooler = ""] = /\[pgbouncer\]\n([^]*?)```/.exec(textOf("docs/deployment.md")) ?? [];
  const lines = pooler.trim().split("\n");
  expect(lines).toContain("server_reset_query_always = 1");
  expect(textOf("deploy/pgbouncer.ini").split("\n")).toEqual(expect.arrayContaining(lines));
});

it("has a script that a shell takes", async () => {
  await promisify(execFile)("sh", ["-n", join(DEPLOY, "one-machine.sh")]);
});
