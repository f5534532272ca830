// Polls for sessions that wait for a lock, and records how long they wait.
import { setTimeout } from "node:timers/promises";
import { connect } from "../../db/connect.ts";

/** The longest observed wait in milliseconds, by application name. */
export type Waits = Record<string, number>;

/** Polling interval in milliseconds; an observed wait is too short by at most this much. */
export const LOOK_MS = 20;

export async function watchLocks(url: string) {
  const client = await connect(url, { applicationName: "bench locks" });
  let waits: Waits = {};
  let isStopping = false;
  const watch = async (): Promise<void> => {
    while (!isStopping) {
      const { rows } = await client.query<{ name: string; waited: number }>({
        name: "waiting",
        text: `select
          activity.application_name as name,
          extract(epoch from max(clock_timestamp() - lock.waitstart))::float8 * 1000 as waited
        from pg_locks as lock
        join pg_stat_activity as activity using (pid)
        where not lock.granted
          and lock.waitstart is not null
          and activity.datname = current_database()
        group by activity.application_name`,
      });
      for (const { name, waited } of rows) waits[name] = Math.max(waits[name] ?? 0, waited);
      await setTimeout(LOOK_MS);
    }
  };
  const watching = watch();
  // `stop` reports the error.
  watching.catch(() => undefined);
  return {
    /** The waits since the last call. */
    take(): Waits {
      const taken = waits;
      waits = {};
      return taken;
    },
    async stop(): Promise<void> {
      isStopping = true;
      await watching.finally(() => client.end());
    },
  };
}
