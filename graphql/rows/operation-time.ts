// For how long PostgreSQL works on an operation: no longer in all than on a statement of REST, not beyond a statement that has
// taken too long, and not for a client that has gone.
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import { SafeError } from "postgraphile/grafast";
import { breakOff } from "../../db/bounded-pool.ts";
import type { PooledClient } from "../../db/connection-types.ts";
import { failureOf } from "../../db/failure.ts";
import { stateIn } from "../../http/request.ts";
// Declares the request in grafserv's context.
import type {} from "postgraphile/grafserv/node";
import type { GraphqlLimits } from "../limits/limits.ts";

const TIME_IS_UP = new SafeError(
  "The query took too long: ask for fewer fields at once, for smaller pages, or by what an index serves.",
  { code: "TIMEOUT" },
);

const CLIENT_GONE = new SafeError("The client has gone before it was answered.", {
  code: "UNAVAILABLE",
});

/** A new connection takes longer than most statements: they are left to end where the client has gone. */
const GONE_MS = 1000;

/** A client of PostGraphile's adaptor. */
type Lent = PgClient & { rawClient?: PooledClient };

export class OperationTime {
  readonly #lent = new Set<Lent>();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  /** Why nothing more is begun. */
  #over: unknown;

  /** Milliseconds from its first connection on; 0 for any number. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Lends connections while there is time. That of a transaction is lent again for each of its statements. */
  within(withPgClient: WithPgClient): WithPgClient {
    return (settings, callback) =>
      this.#unlessOver(() =>
        withPgClient(settings, (client) => this.#lend(client, () => callback(client))),
      );
  }

  /** Closes the connections, so that PostgreSQL gives up what it works on. What is not answered fails by this error. */
  giveUp(why: Error): void {
    this.#over ??= why;
    for (const { rawClient } of this.#lent) if (rawClient !== undefined) breakOff(rawClient);
  }

  /** Its client has gone: nothing more is begun, and what goes on for long is given up. */
  leave(): void {
    this.#over ??= CLIENT_GONE;
    clearTimeout(this.#timer);
    if (!this.#isAnswered)
      this.#timer = setTimeout(() => this.giveUp(CLIENT_GONE), GONE_MS).unref();
  }

  /** The operation is answered. */
  stop(): void {
    this.#isAnswered = true;
    clearTimeout(this.#timer);
  }

  async #lend<Result>(client: Lent, use: () => Result): Promise<Awaited<Result>> {
    if (this.#lent.has(client)) return await this.#unlessOver(use);
    if (this.#ms > 0) this.#timer ??= setTimeout(() => this.giveUp(TIME_IS_UP), this.#ms).unref();
    this.#lent.add(client);
    try {
      return await this.#unlessOver(use);
    } finally {
      this.#lent.delete(client);
    }
  }

  async #unlessOver<Result>(act: () => Result): Promise<Awaited<Result>> {
    this.#check();
    try {
      return await act();
    } catch (error) {
      // PostgreSQL has given it up: the connection stays.
      if (failureOf(error) === "timeout") this.#over ??= error;
      this.#check();
      throw error;
    }
  }

  #check(): void {
    if (this.#over !== undefined) throw this.#over as Error;
  }
}

/** Must come before the plugins that begin transactions. */
export const makeOperationTimePlugin = ({ databaseMs }: GraphqlLimits): GraphileConfig.Plugin => ({
  name: "OperationTimePlugin",
  description: "Bounds for how long the database works on an operation.",

  grafast: {
    middleware: {
      async execute(next, { args }) {
        const context = args.contextValue as { withPgClient?: WithPgClient; time?: OperationTime };
        if (context.withPgClient === undefined) return next();
        const time = (context.time = new OperationTime(databaseMs));
        context.withPgClient = time.within(context.withPgClient);
        const res = args.requestContext?.node?.res;
        const leave = (): void => {
          const isAwaited =
            res?.writableFinished === true || stateIn(args.requestContext)?.isShared;
          if (isAwaited !== true) time.leave();
        };
        if (res?.closed === true) leave();
        res?.once("close", leave);
        try {
          return await next();
        } finally {
          time.stop();
          res?.off("close", leave);
        }
      },
    },
  },
});
