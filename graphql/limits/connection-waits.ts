// The wait of an operation for a connection, which is of its time to wait as those for its turns.
import type { Pool, PooledClient } from "../../db/connection-types.ts";
import { POOL_TIMEOUT } from "../../db/fair-queue.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";

/** The pool, from which a running operation has a connection within its time. */
export function withinTime(pool: Pool, operations: OperationsInFlight): Pool {
  const connect = async (): Promise<PooledClient> => {
    const connected = pool.connect();
    const time = operations.waitingTime;
    // What waits in no queue has a connection at once, or one that is being opened.
    if (time === undefined || pool.waitingCount === 0) return await connected;
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
  };
  return Object.create(pool, { connect: { value: connect } }) as Pool;
}
