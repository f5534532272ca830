// Looks all the time who waits for a lock, and for how long.
import { setTimeout } from "node:timers/promises";
import { connect } from "../../db/connect.ts";

/** Milliseconds of the longest wait that was seen, by the name of the application that waited. */
export type Waits = Record<string, number>;

export interface LockWatch {
  /** What was seen since this was asked last. */
  take(): Waits;
  stop(): Promise<void>;
}

/** So often it is looked, in milliseconds: a wait is seen short by that much at most. */
export const LOOK_MS = 20;

export async function watchLocks(url: string): Promise<LockWatch> {
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
  // Heard of by whoever stops it.
  watching.catch(() => undefined);
  return {
    take() {
      const taken = waits;
      waits = {};
      return taken;
    },
    async stop() {
      isStopping = true;
      await watching.finally(() => client.end());
    },
  };
}
