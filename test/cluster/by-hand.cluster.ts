// Throws events at a cluster without Patroni under load: no answer may be wrong or go back, and no client may get anything but answers
// and 503 with Retry-After.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../db/connect.ts";
import { commitLater } from "../later-migration.ts";
import { join } from "node:path";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { runFile } from "../service.ts";
import { HARD_STOP_SECONDS } from "./balancer.ts";
import { expectNoneOfBefore } from "./before.ts";
import { startByHand, type ClusterByHand } from "./by-hand.ts";
import { record, type CommitCost } from "./outcomes.ts";
import { describeUnless, MISSING } from "./programs.ts";
import { under, type Expected } from "./under.ts";

let cluster: ClusterByHand;
let copy: RepositoryCopy | undefined;

const SECOND = 1000;

const during = (
  event: string,
  happen: () => Promise<unknown>,
  expected?: Expected,
): Promise<void> => under(cluster, event, happen, expected);

/** The place of a standby; without standbys that lag, any is like another. */
const aStandby = (): number => cluster.standbys()[0]!;

describeUnless(
  MISSING,
  "a cluster under load has no wrong answer, and none that goes back, when",
  () => {
    beforeAll(async () => {
      cluster = await startByHand();
    });
    afterAll(async () => {
      await cluster.remove();
      await copy?.remove();
    });

    it("nothing happens", async () => {
      await during("nothing, for 8 s", () => sleep(8 * SECOND));
      await record({ cost: await commitCost() });
    });

    it("a standby is stopped and started again", async () => {
      const place = aStandby();
      const standby = cluster.servers[place]!;
      await during("a standby stopped for 4 s", async () => {
        await standby.stop();
        await cluster.balancer.untilDown(place);
        await sleep(4 * SECOND);
        await standby.start();
      });
    });

    it("a standby freezes", async () => {
      const place = aStandby();
      await during("a standby frozen for 6 s", async () => {
        const wake = await cluster.servers[place]!.freeze();
        await cluster.balancer.untilDown(place);
        await sleep(6 * SECOND);
        wake();
      });
    });

    it("a standby falls behind, since a long query holds up its replay", async () => {
      const place = aStandby();
      const standby = cluster.servers[place]!;
      await during("a long query on a standby, which falls behind", async () => {
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
      await during("the primary killed, a standby promoted 5 s later", async () => {
        await killed.kill();
        await sleep(5 * SECOND);
        await cluster.failOver();
        await killed.rejoin(cluster.primary());
      });
    });

    it("the old primary starts again by itself, beside the new one", async () => {
      const old = cluster.primary();
      const service = cluster.services[cluster.servers.indexOf(old)]!;
      await during(
        "the primary killed, a standby promoted, the old one started beside it",
        async () => {
          await old.kill();
          await cluster.failOver();
          await expectNoneOfBefore(
            cluster,
            cluster.primary(),
            async () => {
              await old.start();
              await sleep(4 * SECOND);
              expect(await service.reasons()).toEqual([
                expect.stringContaining("none streams from it"),
              ]);
            },
            service,
          );
          await old.stop();
          await old.rejoin(cluster.primary());
        },
      );
    });

    it("the primary freezes: its writers are disconnected", async () => {
      const primary = cluster.primary();
      await during("the primary frozen, until writers are disconnected", async () => {
        const url = new URL(primary.url);
        url.port = String(cluster.balancer.writingPort);
        const writer = await connect(url.href);
        const ended = new Promise((resolve) => writer.once("end", resolve));
        const wake = await primary.freeze();
        await ended;
        wake();
      });
    });

    it("a service is killed and started again", async () => {
      const service = cluster.services[2]!;
      await during(
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
      await during(
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
      await during("HAProxy reloaded three times", async () => {
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
        `alter table dex_trade add column desk text;
      comment on column dex_trade.desk is 'Where the trade was made.';`,
      );
      await during("a release with a migration, service by service", async () => {
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
  },
);

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
