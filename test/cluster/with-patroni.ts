// A cluster that Patroni and etcd run: they find out by themselves which PostgreSQL is the primary.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fill, NAMES, startCluster, type Cluster, type Servers } from "./cluster.ts";
import { Etcd } from "./etcd.ts";
import { PatroniServer } from "./patroni-server.ts";

export interface ClusterWithPatroni extends Cluster<PatroniServer> {
  etcd: Etcd;
  /** The server that is the primary by its Patroni, once one is. */
  primary: () => Promise<PatroniServer>;
}

export async function startWithPatroni(): Promise<ClusterWithPatroni> {
  const started = Promise.withResolvers<Etcd>();
  const cluster = await startCluster((folder, parts) =>
    startServers(folder, parts, started.resolve),
  );
  return {
    ...cluster,
    etcd: await started.promise,
    primary: () => primaryOf(cluster.servers),
  };
}

/** Waits until one of them is, and no other. */
export async function primaryOf(servers: readonly PatroniServer[]): Promise<PatroniServer> {
  for (;;) {
    const are = await Promise.all(servers.map((server) => server.is("primary")));
    const [found, ...others] = servers.filter((_, place) => are[place]);
    if (found !== undefined && others.length === 0) return found;
    await sleep(50);
  }
}

/** As deploy/patroni.yml has it. */
const SYNCHRONOUS = 2;

/** Waits until etcd names all standbys that may be promoted. */
export async function untilSynchronous(servers: readonly PatroniServer[]): Promise<void> {
  const is = (): Promise<boolean[]> =>
    Promise.all(servers.map((server) => server.is("synchronous")));
  while ((await is()).filter(Boolean).length < SYNCHRONOUS) await sleep(50);
}

async function startServers(
  folder: string,
  parts: AsyncDisposableStack,
  onEtcd: (etcd: Etcd) => void,
): Promise<Servers<PatroniServer>> {
  const etcd = await Etcd.start(folder);
  parts.defer(() => etcd.kill());
  onEtcd(etcd);
  const password = randomBytes(18).toString("base64url");
  const servers: PatroniServer[] = [];
  for (const name of NAMES) {
    const server = await PatroniServer.of({ folder, name, password, etcd: etcd.address });
    parts.defer(() => server.kill());
    servers.push(server);
  }
  const [primary, ...standbys] = servers as [PatroniServer, ...PatroniServer[]];
  await primary.start();
  await primary.until("primary");
  await fill(primary);
  await Promise.all(standbys.map((standby) => standby.start()));
  await Promise.all(standbys.map((standby) => standby.until("replica")));
  await untilSynchronous(servers);
  return { servers, writers: servers };
}
