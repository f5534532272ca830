// A cluster whose failover an operator does by hand: PostgreSQL's own replication, and HAProxy with the address of the
// primary.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fill, NAMES, startCluster, type Cluster, type Servers } from "./cluster.ts";
import { PostgresServer } from "./postgres-server.ts";

export interface ClusterByHand extends Cluster<PostgresServer> {
  /** The server that is written to, and the places of the others. */
  primary: () => PostgresServer;
  standbys: () => number[];
  /** Makes a standby the primary, and leads writers to it. */
  failOver: () => Promise<void>;
  /** The release that services are started of: a folder, or this repository. */
  release: string | undefined;
}

export async function startByHand(): Promise<ClusterByHand> {
  const cluster = await startCluster(startServers);
  const { servers, balancer } = cluster;
  let [primary] = servers as [PostgresServer];
  const standbys = (): number[] =>
    servers.flatMap((server, place) => (server === primary ? [] : [place]));
  return {
    ...cluster,
    primary: () => primary,
    standbys,
    async failOver() {
      const candidates = servers.filter((server) => server !== primary);
      const received = await Promise.all(candidates.map((server) => server.received()));
      // The one that has most has all that any client has seen.
      const most = received.indexOf(received.reduce((one, other) => (one > other ? one : other)));
      const promoted = candidates[most]!;
      await promoted.promote();
      await Promise.all(
        candidates.filter((one) => one !== promoted).map((one) => one.follow(promoted)),
      );
      primary = promoted;
      await balancer.leadWritersTo(promoted.port);
    },
    release: undefined,
  };
}

async function startServers(
  folder: string,
  parts: AsyncDisposableStack,
): Promise<Servers<PostgresServer>> {
  const password = randomBytes(18).toString("base64url");
  const primary = await PostgresServer.primary(folder, NAMES[0], password);
  parts.defer(() => primary.kill());
  await fill(primary);
  const standbys: PostgresServer[] = [];
  for (const name of NAMES.slice(1)) {
    const standby = await PostgresServer.standbyOf(primary, folder, name);
    parts.defer(() => standby.kill());
    standbys.push(standby);
  }
  while ((await primary.streaming()) < standbys.length) await sleep(20);
  const servers = [primary, ...standbys];
  for (const server of servers) await server.waitForStandby(NAMES);
  return { servers, writers: primary.port };
}
