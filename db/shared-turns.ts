// Sends the named statements that are asked in one turn of the event loop by one connection, in one write.
import type { Pool, PooledClient } from "./connection-types.ts";
import { isUnreachable } from "./failure.ts";

/** Statements of a turn on one connection; the next ones take another. */
const MAX_STATEMENTS = 4;

// A plan of GraphQL holds the event loop for as long.
/** A turn that takes longer has a slow statement: those behind it run alone. */
const PATIENCE_MS = 50;

/** How long all statements run alone then. */
const PAUSE_MS = 1000;

/** SQLSTATEs of a statement that the one before could not prepare, or that was prepared before a change of the schema. */
const NOT_PREPARED = new Set(["26000", "0A000"]);

interface Statement {
  config: object;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

type Release = (error?: Error) => void;

/** Has a statement run alone. */
const ALONE = new Error("the statement waits behind another one of its connection");

/**
 * Only while a connection is free: else each statement waits for its client's turn. Where one is slow, or takes the connection with it,
 * those behind it run alone. So the time of one statement adds at most PATIENCE_MS to that of another, and its failure nothing.
 */
export function shareTurns(pool: Pool): void {
  const runAlone = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  let open: Statement[] | undefined;
  let begun = 0;
  let pausedUntil = 0;

  const isFree = (): boolean =>
    pool.waitingCount === 0 && pool.options.max + pool.idleCount - pool.totalCount > begun;

  const begin = (): Statement[] => {
    const turn: Statement[] = [];
    begun += 1;
    setImmediate(() => {
      begun -= 1;
      if (open === turn) open = undefined;
      // Another request may have taken the last one since: each waits for its own client's turn then.
      if (!isFree()) {
        for (const { reject } of turn) reject(ALONE);
        return;
      }
      pool.connect((error, client, release) => {
        if (client !== undefined) run(turn, client, release, onSlow);
        else for (const { reject } of turn) reject(error);
      });
    });
    return turn;
  };
  const onSlow = (): void => {
    pausedUntil = performance.now() + PAUSE_MS;
  };

  const shared = (config: unknown, ...rest: unknown[]): unknown => {
    if (rest.length > 0 || !isNamed(config)) return runAlone(config, ...rest);
    if (open === undefined || open.length === MAX_STATEMENTS) {
      if (!isFree() || performance.now() < pausedUntil) return runAlone(config);
      open = begin();
    }
    const turn = open;
    return new Promise((resolve, reject) => turn.push({ config, resolve, reject })).catch(
      (error: unknown) => {
        if (error === ALONE) return runAlone(config);
        throw error;
      },
    );
  };
  // One function implements all overloads.
  pool.query = shared as Pool["query"];
}

const isNamed = (config: unknown): config is object =>
  typeof config === "object" && config !== null && "name" in config && !("query_timeout" in config);

function run(turn: Statement[], client: PooledClient, release: Release, onSlow: () => void): void {
  const isShared = turn.length > 1;
  const { stream } = (client as unknown as Corked).connection;
  let answered = 0;
  let failure: Error | undefined;
  let isLost = false;
  let isGivenUp = false;
  let isOver = false;
  const giveUp = (): void => {
    if (answered === turn.length) return;
    onSlow();
    const behind = turn.slice(answered + 1);
    isGivenUp = behind.length > 0;
    for (const { reject } of behind) reject(ALONE);
  };
  // A late timer comes before the answers that are already there.
  const timer = isShared ? setTimeout(() => setImmediate(giveUp), PATIENCE_MS).unref() : undefined;

  const settle = (statement: Statement, error: Error | null, result: unknown): void => {
    const isFirst = answered === 0;
    answered += 1;
    if (error === null) statement.resolve(result);
    else {
      failure ??= error;
      const { code = "" } = error as { code?: string };
      const isOfOther = isLost || (!isFirst && NOT_PREPARED.has(code));
      isLost ||= isUnreachable(error);
      statement.reject(isOfOther ? ALONE : error);
    }
    if (isOver || (answered < turn.length && !isGivenUp)) return;
    isOver = true;
    clearTimeout(timer);
    if (isShared) Object.assign(client, { pipeline: false });
    // PostgreSQL has the statements that were given up, and would run one after the other: it ends them with the connection.
    release(
      isGivenUp ? new Error("the connection has statements that nothing waits for") : failure,
    );
    if (isGivenUp) stream.destroy();
  };

  if (isShared) {
    Object.assign(client, { pipeline: true });
    stream.cork();
  }
  for (const statement of turn) {
    const done = (error: Error | null, result: unknown): void => settle(statement, error, result);
    (client.query as unknown as Query)(statement.config, undefined, done);
  }
  if (isShared) stream.uncork();
}

type Query = (
  config: object,
  values: undefined,
  done: (error: Error | null, result: unknown) => void,
) => void;

interface Corked {
  connection: { stream: Record<"cork" | "destroy" | "uncork", () => void> };
}
