// The wait of an operation for a connection, which is of its time to wait as those for its turns.
import type { PooledClient } from "../../db/connection-types.ts";
import { POOL_TIMEOUT } from "../../db/fair-queue.ts";
import type { WaitingTime } from "./waiting-line.ts";

/** The connection, if it comes within the time. */
export async function withinTime(
  connected: Promise<PooledClient>,
  time: WaitingTime,
): Promise<PooledClient> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = time.wait(() => reject(new Error(POOL_TIMEOUT)));
  try {
    return await Promise.race([connected, over]);
  } catch (error) {
    // The queue goes on with it: a connection that comes too late goes back.
    connected.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  } finally {
    end();
  }
}
