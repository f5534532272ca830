// Throws events at a cluster under load: no answer may be wrong or go back, and no client may get anything but answers
// and 503 with Retry-After.
import { setTimeout as sleep } from "node:timers/promises";
import { commitLater } from "../later-migration.ts";
import { copyRepository, type RepositoryCopy } from "../dba/repository-copy.ts";
import { join } from "node:path";
import { runFile } from "../service.ts";
import { HARD_STOP_SECONDS } from "./balancer.ts";
import { startCluster, type Cluster } from "./cluster.ts";
import { record, type CommitCost } from "./outcomes.ts";
import { MISSING } from "./programs.ts";
import { KEPT } from "./stream-followers.ts";

let cluster: Cluster;
/** Whether all parts are in use. */
let isWhole = true;
let copy: RepositoryCopy | undefined;

const SECOND = 1000;

interface Expected {
  /** Whether answers may be broken off: what a process that is killed has begun to send. */
  breaksOff?: boolean;
}

/** Has an event happen under load. Afterwards all is in use again, and what came meanwhile is judged. */
async function under(
  event: string,
  happen: () => Promise<unknown>,
  { breaksOff = false }: Expected = {},
): Promise<void> {
  if (!isWhole) throw new Error("an earlier event has left the cluster in pieces");
  isWhole = false;
  const { balancer, clients, followers, writer } = cluster;
  await balancer.untilAllUp();
  clients.judge();
  writer.countAnew();
  followers.countAnew();

  await happen();
  const ended = performance.now();
  await balancer.untilAllUp();
  const recoveredMs = performance.now() - ended;
  await writer.written(3);
  await clients.untilAnswered();
  isWhole = true;

  const written = { ...writer.tally };
  await writer.whileHeld(KEPT, async (truth) => {
    const differences = await followers.differences(truth);
    const counts = clients.judge();
    const followed = { ...followers.tally };
    await record({
      outcome: { event, clients: counts, followers: followed, writer: written, recoveredMs },
    });
    expect({ ...counts, differences }).toMatchObject({
      ...{ wrong: [], wentBack: [], other: [], differences: [] },
      ...(breaksOff ? {} : { brokenOff: 0 }),
    });
    expect(counts.answers).toBeGreaterThan(0);
  });
}

/** The place of a standby; without standbys that lag, any is like another. */
const aStandby = (): number => cluster.standbys()[0]!;

const describeCluster =
  MISSING.length > 0
    ? (what: string, tests: () => void) =>
        describe.skip(`${what}: NOT TESTED, apt-get install ${MISSING.join(" ")}`, tests)
    : describe;

describeCluster("a cluster under load has no wrong answer, and none that goes back, when", () => {
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    await cluster.remove();
    await copy?.remove();
  });

  it("nothing happens", async () => {
    await under("nothing, for 8 s", () => sleep(8 * SECOND));
    await record({ cost: await commitCost() });
  });

  it("a standby is stopped and started again", async () => {
    const place = aStandby();
    const standby = cluster.servers[place]!;
    await under("a standby stopped for 4 s", async () => {
      await standby.stop();
      await cluster.balancer.untilDown(place);
      await sleep(4 * SECOND);
      await standby.start();
    });
  });

  it("a standby freezes", async () => {
    const place = aStandby();
    await under("a standby frozen for 6 s", async () => {
      const wake = await cluster.servers[place]!.freeze();
      await cluster.balancer.untilDown(place);
      await sleep(6 * SECOND);
      wake();
    });
  });

  it("a standby falls behind, since a long query holds up its replay", async () => {
    const place = aStandby();
    const standby = cluster.servers[place]!;
    await under("a long query on a standby, which falls behind", async () => {
      const primary = cluster.primary();
      await primary.ask(async (client) => {
        await client.query("create schema if not exists report");
        await client.query("create table report.seen as select generate_series(1, 1000) as id");
      });
      while (!(await hasTable(place))) await sleep(20);
      await standby.ask(async (report) => {
        await report.query("begin isolation level repeatable read");
        await report.query("select count(*) from report.seen");
        await primary.ask(async (client) => {
          await client.query("delete from report.seen");
          // What the query may still see is removed here, and cannot be there.
          while (!(await isHeldUp(place))) {
            await client.query("vacuum report.seen");
            await sleep(50);
          }
        });
        await cluster.balancer.untilDown(place);
        await sleep(3 * SECOND);
        await report.query("commit");
      });
      await primary.ask((client) => client.query("drop table report.seen"));
    });
  });

  it("the primary is killed, and a standby promoted", async () => {
    const killed = cluster.primary();
    await under("the primary killed, a standby promoted 5 s later", async () => {
      await killed.kill();
      await sleep(5 * SECOND);
      await cluster.failOver();
      await killed.rejoin(cluster.primary());
    });
  });

  it("a service is killed and started again", async () => {
    const service = cluster.services[2]!;
    await under(
      "a service killed, started again 2 s later",
      async () => {
        await service.stop("SIGKILL");
        await sleep(2 * SECOND);
        await service.start(cluster.release);
      },
      { breaksOff: true },
    );
  });

  it("all services are killed at once and started again", async () => {
    const { services } = cluster;
    await under(
      "all services killed, started again 2 s later",
      async () => {
        await Promise.all(services.map((service) => service.stop("SIGKILL")));
        await sleep(2 * SECOND);
        await Promise.all(services.map((service) => service.start(cluster.release)));
      },
      { breaksOff: true },
    );
  });

  it("HAProxy is reloaded", async () => {
    await under("HAProxy reloaded three times", async () => {
      for (let n = 0; n < 3; n += 1) {
        await cluster.balancer.reload();
        await sleep(SECOND);
      }
      // The streams of the old workers are ended then.
      await sleep(HARD_STOP_SECONDS * SECOND);
    });
  });

  it("a release with a migration is rolled out, a service after the other", async () => {
    const release = await copyRepository();
    copy = release;
    await commitLater(
      join(release.folder, "db/migrations"),
      `alter table dex_trade add column venue text;
      comment on column dex_trade.venue is 'Where the trade was made.';`,
    );
    await under("a release with a migration, service by service", async () => {
      const { code, stderr } = await runFile(
        "db/commands/migrate.ts",
        { DATABASE_OWNER_URL: cluster.primary().url },
        ["migrate"],
        release.folder,
      ).ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      for (const service of cluster.services) {
        await cluster.balancer.untilAllUp();
        await service.stop();
        await service.start(release.folder);
      }
      cluster.release = release.folder;
    });
  });
});

const hasTable = (place: number): Promise<boolean> =>
  cluster.servers[place]!.ask(async (client) => {
    const { rows } = await client.query<{ found: boolean }>(
      "select to_regclass('report.seen') is not null as found",
    );
    return rows[0]?.found === true;
  });

/** Whether the replay waits for a statement that sees what it removes. */
const isHeldUp = (place: number): Promise<boolean> =>
  cluster.servers[place]!.ask(async (client) => {
    const { rows } = await client.query(
      "select from pg_stat_activity where backend_type = 'startup' and wait_event = 'RecoveryConflictSnapshot'",
    );
    return rows.length > 0;
  });

/** Commits small transactions in turn with and without waiting for a standby. */
const commitCost = (): Promise<CommitCost> =>
  cluster.primary().ask(async (client) => {
    const commit = async (synchronous: "remote_apply" | "local"): Promise<number> => {
      await client.query("begin");
      await client.query(`set local synchronous_commit = ${synchronous}`);
      await client.query("select pg_logical_emit_message(true, 'commit', '')");
      const began = performance.now();
      await client.query("commit");
      return performance.now() - began;
    };
    const times: Record<"waiting" | "notWaiting", number[]> = { waiting: [], notWaiting: [] };
    for (let n = 0; n < 300; n += 1) {
      times.waiting.push(await commit("remote_apply"));
      times.notWaiting.push(await commit("local"));
    }
    return { waiting: median(times.waiting), notWaiting: median(times.notWaiting) };
  });

function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
