// TLS to a PostgreSQL with a certificate of a test CA.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
  type Cluster,
} from "../../db/embedded/cluster.ts";
import { writePrivate } from "../../db/embedded/private-file.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { makeTestApp } from "../app.ts";
import { openClient, openPool } from "../database.ts";
import { ask } from "../graphql.ts";
import { startService, type Service } from "../service.ts";

let folder: string;
let cluster: Cluster;
let port: number;
const password = randomBytes(18).toString("base64url");
const services: Service[] = [];

interface Authority {
  key: string;
  cert: string;
}

const KEYS = { keyType: "ec", algorithm: "sha256" } as const;

async function makeAuthority(name: string): Promise<Authority> {
  const made = await generate([{ name: "commonName", value: name }], {
    ...KEYS,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { key: made.private, cert: made.cert };
}

/** The server's certificate names only `localhost`, not 127.0.0.1. */
async function makeServerCertificate(ca: Authority): Promise<Authority> {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    ...KEYS,
    ca,
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  return { key: made.private, cert: made.cert };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dex-tls-"));
  await chmod(folder, 0o755);
  const authority = await makeAuthority("the exchange's own");
  const stranger = await makeAuthority("somebody else's");
  const { key, cert } = await makeServerCertificate(authority);
  await writeFile(join(folder, "ca.pem"), authority.cert);
  await writeFile(join(folder, "other-ca.pem"), stranger.cert);

  cluster = await openCluster(join(folder, "postgres"));
  await initialiseCluster(cluster, password);
  await writePrivate(join(cluster.dataDir, "server.key"), key, cluster.account);
  await writePrivate(join(cluster.dataDir, "server.crt"), cert, cluster.account);
  port = await startServer(cluster, { ssl: "on", fsync: "off" });
  await makeRoles(url("127.0.0.1"));
  await applyMigrations(url("127.0.0.1"));
});
afterAll(async () => {
  for (const service of services) {
    service.signal("SIGKILL");
    await service.ended;
  }
  await stopServer(cluster);
  await rm(folder, { recursive: true, force: true });
});

function url(host: string, parameters: Record<string, string> = {}): string {
  const made = new URL(`postgres://${SUPERUSER}:${password}@${host}:${port}/postgres`);
  for (const [name, value] of Object.entries(parameters)) made.searchParams.set(name, value);
  return made.href;
}

const file = (name: string): string => join(folder, name);

/** Whether the connection is encrypted, or the error. */
async function encrypted(databaseUrl: string): Promise<boolean | string> {
  try {
    await using client = await openClient(databaseUrl);
    const { rows } = await client.query<{ ssl: boolean }>(
      "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
    );
    return rows[0]!.ssl;
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).message;
  }
}

const UNKNOWN_CA =
  /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT.*))$/;
const WRONG_NAME = "ERR_TLS_CERT_ALTNAME_INVALID";

describe.each(["verify-full", "verify-ca", "require", "prefer"])("sslmode=%s", (sslmode) => {
  it("connects with TLS to a server with the given CA and the URL's host name", async () => {
    const sslrootcert = file("ca.pem");
    expect(await encrypted(url("localhost", { sslmode, sslrootcert }))).toBe(true);
  });

  it("rejects a server of another or an unknown CA", async () => {
    const sslrootcert = file("other-ca.pem");
    expect(await encrypted(url("localhost", { sslmode, sslrootcert }))).toMatch(UNKNOWN_CA);
    expect(await encrypted(url("localhost", { sslmode }))).toMatch(UNKNOWN_CA);
  });

  it("rejects a server with another host name", async () => {
    const sslrootcert = file("ca.pem");
    expect(await encrypted(url("127.0.0.1", { sslmode, sslrootcert }))).toBe(WRONG_NAME);
  });
});

describe.each([
  ["", {}, false],
  ["sslmode=disable", { sslmode: "disable" }, false],
  ["sslmode=no-verify", { sslmode: "no-verify" }, true],
  ["libpq's require", { sslmode: "require", uselibpqcompat: "true" }, true],
] as const)("%s", (_, parameters, isEncrypted) => {
  it(`is ${isEncrypted ? "encrypted" : "plain"} for any server`, async () => {
    expect(await encrypted(url("127.0.0.1", parameters))).toBe(isEncrypted);
  });
});

it("libpq's verify-ca checks the CA and not the host name", async () => {
  const asked = { sslmode: "verify-ca", uselibpqcompat: "true" };
  expect(await encrypted(url("127.0.0.1", { ...asked, sslrootcert: file("ca.pem") }))).toBe(true);
  expect(
    await encrypted(url("127.0.0.1", { ...asked, sslrootcert: file("other-ca.pem") })),
  ).toMatch(UNKNOWN_CA);
});

it("does not fall back to a plain connection if the server has no TLS", async () => {
  const plain = new URL(process.env["TEST_CLUSTER_URL"] ?? "");
  plain.searchParams.set("sslmode", "prefer");
  // The test run's own server has no TLS; a server of TEST_POSTGRES_URL may have it.
  if (process.env["TEST_POSTGRES_URL"] !== undefined) return;
  expect(await encrypted(plain.href)).toBe("The server does not support SSL connections");
});

describe("the service", () => {
  it("connects with TLS by PostgreSQL's own environment variables", async () => {
    const service = startService({
      DATABASE_URL: url("localhost"),
      PGSSLMODE: "verify-full",
      PGSSLROOTCERT: file("ca.pem"),
    });
    services.push(service);

    const base = await service.url;
    let ready = await fetch(`${base}/ready`);
    // A slow machine may take longer than the time in which the database must answer.
    while (ready.status !== 200) ready = await fetch(`${base}/ready`);
    await using admin = await openClient(url("127.0.0.1"), { applicationName: "test" });
    const { rows } = await admin.query<{ ssl: boolean }>(`
      select distinct ssl.ssl
      from pg_stat_ssl as ssl
      join pg_stat_activity as activity using (pid)
      where activity.application_name = 'dex-market-data'
    `);
    service.signal("SIGTERM");

    expect(rows).toEqual([{ ssl: true }]);
    // The driver prints no warning.
    expect((await service.ended).stderr).toBe("");
  });

  it.each([
    ["a server of another CA", "localhost", "other-ca.pem", "certificate"],
    ["a server with another host name", "127.0.0.1", "ca.pem", "altnames"],
  ])("answers 503 with %s, and logs the reason", async (_, host, ca, why) => {
    await using pool = openPool(url(host, { sslmode: "verify-full", sslrootcert: file(ca) }), {
      role: "dex_reader",
    });
    await using app = await makeTestApp(pool);
    const rest = await app.request.get("/v1/markets/");
    const ready = await app.request.get("/ready");

    expect([rest.status, ready.status]).toEqual([503, 503]);
    expect(rest.body).toMatchObject({ message: "The database cannot be reached" });
    for (const { text } of [rest, ready]) {
      for (const secret of [password, host, String(port), "certificate", folder]) {
        expect(text).not.toContain(secret);
      }
    }
    expect(app.logged.map(String).join()).toMatch(new RegExp(why));
  });
});

it("reads the GraphQL schema with TLS too", async () => {
  await using pool = openPool(
    url("localhost", { sslmode: "verify-full", sslrootcert: file("ca.pem") }),
    {
      role: "dex_reader",
    },
  );
  await using app = await makeTestApp(pool);
  expect((await ask(app, "{ allDexTokens { totalCount } }")).data).toEqual({
    allDexTokens: { totalCount: 0 },
  });
});
