// A transaction that reads one snapshot, and does not wait for the answer to one statement before it sends the next.
import { defaultMaxListeners, type EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";

export interface Snapshot {
  withPgClient: WithPgClient;
  /** Commits after the last statement, and returns the connection to the pool. */
  end: () => void;
}

export interface Beginning {
  /** Before the savepoint, to which a failing field returns: a setting of the transaction stays. */
  setUp?: (client: PgClient) => Promise<unknown>;
  onBegin?: (client: PgClient) => Promise<unknown>;
}

interface Begun {
  client: PgClient;
  /** Resolves when the transaction has begun; what follows may be sent before. */
  ready: Promise<unknown>;
}

const BEGIN = "begin isolation level repeatable read read only";
const SAVEPOINT = "savepoint begun";

/** SQLSTATE of a statement behind one that has failed. */
const ABORTED = "25P02";

/**
 * A transaction that begins with its first statement. Its statements are sent without waiting for the answers to those
 * before: PostgreSQL runs them one by one. Where one fails, it refuses all that were sent behind it. These are sent
 * again, each after the one before, so that none is sent more than twice.
 */
export function makeSnapshot(
  withPgClient: WithPgClient,
  { setUp, onBegin }: Beginning = {},
): Snapshot {
  const ended = Promise.withResolvers<undefined>();
  let begun: Promise<Begun> | undefined;
  let all: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  let isReturned = false;
  /** Resolves when the next statement can be sent, once one has failed. */
  let turn: Promise<unknown> = Promise.resolve();

  const beginOn = async (client: PgClient): Promise<void> => {
    const sent =
      setUp === undefined
        ? [client.query({ text: `${BEGIN}; ${SAVEPOINT}` })]
        : [client.query({ text: BEGIN }), setUp(client), client.query({ text: SAVEPOINT })];
    const answers = await Promise.allSettled([...sent, onBegin?.(client)]);
    // Those behind the first that fails say only that the transaction is aborted.
    const failed = answers.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  };

  const begin = (settings: Parameters<WithPgClient>[0]): Promise<Begun> =>
    new Promise((resolve, reject) => {
      withPgClient(settings, async (client) => {
        pipeline(client, true);
        try {
          const ready = beginOn(client);
          resolve({ client, ready });
          await ready;
          await ended.promise;
          await all;
          // After an error this rolls back, which is the same for a reader.
          await client.query({ text: "commit" });
        } catch {
          // Otherwise the connection would go back to its pool in the transaction. Its statements have the error.
          await client.query({ text: "rollback" }).catch(() => undefined);
        } finally {
          isReturned = true;
          pipeline(client, false);
        }
      }).catch(reject);
    });

  const isFirstToFail = (): boolean => {
    const isFirst = !hasFailed;
    hasFailed = true;
    return isFirst;
  };

  /** The other fields continue in the same snapshot. */
  const goBack = (client: PgClient): Promise<unknown> =>
    client.query({ text: "rollback to savepoint begun" }).catch(() => undefined);

  const send = async (
    settings: Parameters<WithPgClient>[0],
    callback: (client: PgClient) => unknown,
  ): Promise<unknown> => {
    const { client, ready } = await (begun ??= begin(settings));
    if (isReturned) {
      await ready;
      throw new Error("the transaction has ended");
    }
    if (!hasFailed) {
      try {
        return (await Promise.all([callback(client), ready]))[0];
      } catch (error) {
        await ready;
        // Both errors may come at once, and this one first where the other passes through more promises.
        if ((error as { code?: unknown }).code === ABORTED) await setImmediate();
        if (isFirstToFail()) {
          turn = goBack(client);
          throw error;
        }
      }
    }
    const result = turn.then(() => callback(client));
    turn = result.catch(() => goBack(client));
    return result;
  };
  const inOrder = ((settings, callback) => {
    const result = send(settings, callback);
    all = Promise.allSettled([all, result]);
    return result;
  }) as WithPgClient;
  return { withPgClient: inOrder, end: () => ended.resolve(undefined) };
}

/** Whether statements are sent without waiting for the answers to those before. */
function pipeline({ rawClient }: PgClient & { rawClient?: EventEmitter }, isOn: boolean): void {
  if (rawClient === undefined) return;
  Object.assign(rawClient, { pipeline: isOn });
  // Each statement that is not answered has a listener for notices.
  rawClient.setMaxListeners(isOn ? 0 : defaultMaxListeners);
}
