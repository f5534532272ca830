// The whole on one machine: a primary with two standbys, a service on each, and HAProxy in front; with a writer, clients
// and followers of the stream at work.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/roles.ts";
import { simulateHistory } from "../../db/simulate/history.ts";
import { readWritten } from "../faults/right-answers.ts";
import { Balancer } from "./balancer.ts";
import { BlockWriter } from "./block-writer.ts";
import { Clients } from "./clients.ts";
import { History } from "./history.ts";
import { DATABASE, PostgresServer } from "./postgres-server.ts";
import { ServiceNode } from "./service-node.ts";
import { StreamFollowers } from "./stream-followers.ts";

const NAMES = ["one", "two", "three"] as const;

export interface Cluster {
  /** Each service reads the server of its place. */
  servers: PostgresServer[];
  services: ServiceNode[];
  balancer: Balancer;
  writer: BlockWriter;
  clients: Clients;
  followers: StreamFollowers;
  /** The server that is written to, and the places of the others. */
  primary: () => PostgresServer;
  standbys: () => number[];
  /** Makes a standby the primary, and leads writers to it. */
  failOver: () => Promise<void>;
  /** The release that services are started of: a folder, or this repository. */
  release: string | undefined;
  remove: () => Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const parts = new AsyncDisposableStack();
  try {
    return await startParts(parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

async function startParts(parts: AsyncDisposableStack): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "dex-cluster-"));
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await chmod(folder, 0o755);
  const servers = await startServers(folder, parts);
  const services = await Promise.all(servers.map(({ url }) => ServiceNode.of(url)));
  parts.defer(async () => {
    await Promise.all(services.map((service) => service.stop("SIGKILL")));
  });
  await Promise.all(services.map((service) => service.start()));
  let primary = servers[0]!;
  const balancer = await Balancer.start(folder, {
    services: services.map(({ port }) => port),
    primary: primary.port,
  });
  parts.defer(() => balancer.stop());
  const history = new History(await primary.ask(readWritten));
  const writingUrl = new URL(primary.url);
  writingUrl.port = String(balancer.writingPort);
  const writer = new BlockWriter(writingUrl.href, history);
  const clients = new Clients(balancer.url, history);
  const followers = new StreamFollowers(balancer.url);
  parts.defer(async () => {
    await Promise.all([writer.stop(), clients.stop(), followers.stop()]);
  });
  writer.start();
  await balancer.untilAllUp();
  clients.start();
  followers.start();

  const standbys = (): number[] =>
    servers.flatMap((server, place) => (server === primary ? [] : [place]));
  return {
    ...{ servers, services, balancer, writer, clients, followers },
    primary: () => primary,
    standbys,
    async failOver() {
      const candidates = standbys().map((place) => servers[place]!);
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
    remove: () => parts.disposeAsync(),
  };
}

/** A primary with a simulated week that ended yesterday, and two standbys. */
async function startServers(
  folder: string,
  parts: AsyncDisposableStack,
): Promise<PostgresServer[]> {
  const password = randomBytes(18).toString("base64url");
  const primary = await PostgresServer.primary(folder, NAMES[0], password);
  parts.defer(() => primary.kill());
  await primary.ask((client) => client.query(`create database ${DATABASE}`), "postgres");
  await makeRoles(primary.url);
  await applyMigrations(primary.url);
  const until = new Date(Date.now() - 86_400_000);
  await simulateHistory(primary.url, { seed: 7, days: 7, trades: 200, until });
  const standbys: PostgresServer[] = [];
  for (const name of NAMES.slice(1)) {
    const standby = await PostgresServer.standbyOf(primary, folder, name);
    parts.defer(() => standby.kill());
    standbys.push(standby);
  }
  while ((await primary.streaming()) < standbys.length) await sleep(20);
  for (const server of [primary, ...standbys]) await server.waitForStandby(NAMES);
  return [primary, ...standbys];
}
