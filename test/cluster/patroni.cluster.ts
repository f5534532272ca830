// Throws events at a cluster that Patroni runs, under load: no answer may be wrong or go back, no block that was
// acknowledged may be lost, and a former primary comes back as a standby.
import { setTimeout as sleep } from "node:timers/promises";
import { openClient } from "../database.ts";
import { expectNoneOfBefore } from "./before.ts";
import type { PatroniServer } from "./patroni-server.ts";
import { describeUnless, MISSING_WITH_PATRONI } from "./programs.ts";
import { under } from "./under.ts";
import {
  primaryOf,
  startWithPatroni,
  untilSynchronous,
  type ClusterWithPatroni,
} from "./with-patroni.ts";

let cluster: ClusterWithPatroni;

const SECOND = 1000;

const during = async (event: string, happen: () => Promise<unknown>): Promise<void> => {
  await cluster.primary();
  // Else nobody may be promoted.
  await untilSynchronous(cluster.servers);
  await under(cluster, `Patroni: ${event}`, happen);
};

const without = (server: PatroniServer): PatroniServer[] =>
  cluster.servers.filter((one) => one !== server);

describeUnless(MISSING_WITH_PATRONI, "a cluster that Patroni runs goes on when", () => {
  beforeAll(async () => {
    cluster = await startWithPatroni();
  });
  afterAll(async () => {
    await cluster.remove();
  });

  it("the primary is killed, and starts again by itself once another is the primary", async () => {
    const killed = await cluster.primary();
    await during(
      "the machine of the primary killed, started again after the promotion",
      async () => {
        await killed.kill();
        const promoted = await primaryOf(without(killed));
        await expectNoneOfBefore(cluster, promoted, async () => {
          await killed.start();
          await killed.until("replica");
        });
      },
    );
    expect(await killed.is("primary")).toBe(false);
  });

  it("the PostgreSQL of the primary is killed", async () => {
    const killed = await cluster.primary();
    await during("PostgreSQL of the primary killed", async () => {
      await killed.killPostgres();
      await primaryOf(without(killed));
      await killed.until("replica");
    });
  });

  it("the Patroni of the primary is halted, which leaves two primaries until it goes on", async () => {
    const halted = await cluster.primary();
    const service = cluster.services[cluster.servers.indexOf(halted)]!;
    await during("Patroni of the primary halted, woken after the promotion", async () => {
      const wake = halted.freezePatroni();
      const promoted = await primaryOf(without(halted));
      const isPrimary = (): Promise<boolean> =>
        halted.ask(async (client) => {
          const { rows } = await client.query("select where not pg_is_in_recovery()");
          return rows.length > 0;
        });
      await expectNoneOfBefore(
        cluster,
        promoted,
        async () => {
          expect(await isPrimary()).toBe(true);
          expect(await service.reasons()).toEqual([
            expect.stringContaining("none streams from it"),
          ]);
        },
        service,
      );
      wake();
      await halted.until("replica");
    });
  });

  it("etcd is halted for longer than a primary may be silent", async () => {
    const primary = await cluster.primary();
    await during("etcd halted for 15 s", async () => {
      const wake = cluster.etcd.freeze();
      await sleep(15 * SECOND);
      expect(await primary.is("primary")).toBe(true);
      await cluster.writer.written(1);
      wake();
    });
  });

  it("readers are led to a standby", async () => {
    const url = new URL(cluster.servers[0]!.url);
    url.port = String(cluster.balancer.readingPort);
    await using client = await openClient(url.href);
    const { rows } = await client.query<{ is: boolean }>("select pg_is_in_recovery() as is");
    expect(rows).toEqual([{ is: true }]);
  });
});
