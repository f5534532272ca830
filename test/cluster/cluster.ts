// The whole on one machine: a primary with two standbys, a service on each, and HAProxy in front; with a writer, clients
// and followers of live data at work.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { simulateHistory } from "../../db/simulate/simulated-history.ts";
import { readWritten } from "../faults/right-answers.ts";
import { NO_CONNECTION } from "../market/live/live-client.ts";
import { SteadyFollowers } from "../market/live/steady-followers.ts";
import { DATABASE, type Ask } from "./asking.ts";
import { Balancer, type Behind } from "./balancer.ts";
import { BlockWriter } from "./block-writer.ts";
import { Clients } from "./clients.ts";
import { History } from "./history.ts";
import { ServiceNode } from "./service-node.ts";

/** The names of the servers, in the order of their places. */
export const NAMES = ["one", "two", "three"] as const;

/** One PostgreSQL. */
export interface Server {
  name: string;
  port: number;
  /** The superuser's URL of the exchange's database. */
  url: string;
  ask: Ask;
}

export interface Servers<One extends Server> {
  /** The first is the primary. */
  servers: One[];
  writers: Behind["writers"];
}

export interface Cluster<One extends Server = Server> {
  /** Each service reads the server of its place. */
  servers: One[];
  services: ServiceNode[];
  balancer: Balancer;
  writer: BlockWriter;
  clients: Clients;
  followers: SteadyFollowers;
  remove: () => Promise<void>;
}

/** Starts the servers, and all else around them. */
export async function startCluster<One extends Server>(
  startServers: (folder: string, parts: AsyncDisposableStack) => Promise<Servers<One>>,
): Promise<Cluster<One>> {
  const parts = new AsyncDisposableStack();
  try {
    const folder = await mkdtemp(join(tmpdir(), "dex-cluster-"));
    parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    await chmod(folder, 0o755);
    return await startAround(await startServers(folder, parts), folder, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

async function startAround<One extends Server>(
  { servers, writers }: Servers<One>,
  folder: string,
  parts: AsyncDisposableStack,
): Promise<Cluster<One>> {
  const [primary] = servers;
  if (primary === undefined) throw new Error("a cluster has a primary");
  const services = await Promise.all(servers.map(({ url }) => ServiceNode.of(url)));
  parts.defer(async () => {
    await Promise.all(services.map((service) => service.stop("SIGKILL")));
  });
  await Promise.all(services.map((service) => service.start()));
  const balancer = await Balancer.start(folder, {
    services: services.map(({ port }) => port),
    writers,
  });
  parts.defer(() => balancer.stop());
  const history = new History(await primary.ask(readWritten));
  const writingUrl = new URL(primary.url);
  writingUrl.port = String(balancer.writingPort);
  const writer = new BlockWriter(writingUrl.href, history);
  const clients = new Clients(balancer.url, history);
  const followers = new SteadyFollowers(balancer.url, {
    // No service answers for a moment.
    tolerates: ({ message }) => message === NO_CONNECTION,
    patienceMs: 60_000,
  });
  parts.defer(async () => {
    await Promise.all([writer.stop(), clients.stop(), followers.stop()]);
  });
  writer.start();
  await balancer.untilAllUp();
  clients.start();
  followers.start();
  return {
    ...{ servers, services, balancer, writer, clients, followers },
    remove: () => parts.disposeAsync(),
  };
}

/** Gives a primary the exchange's database, with a simulated week that ended yesterday. */
export async function fill({ url, ask }: Server): Promise<void> {
  await ask((client) => client.query(`create database ${DATABASE}`), "postgres");
  await makeRoles(url);
  await applyMigrations(url);
  const until = new Date(Date.now() - 86_400_000);
  await simulateHistory(url, { seed: 7, days: 7, trades: 200, until });
}
