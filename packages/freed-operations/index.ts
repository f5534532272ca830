// Keeps nothing of an operation that is over: see README.md.
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import { makePgAdaptorWithPgClient } from "postgraphile/adaptors/pg";
import { freeMiddleware } from "./middleware.ts";

/** For a service with one pool. */
export function makeFreedOperationsPlugin(
  pool: Parameters<typeof makePgAdaptorWithPgClient>[0],
): GraphileConfig.Plugin {
  freeMiddleware();
  // PostGraphile takes the pool anew for each statement, and gives it back by a timer of 5 seconds, which keeps the request.
  const withPgClient: WithPgClient = makePgAdaptorWithPgClient(pool);
  return {
    name: "FreedOperationsPlugin",
    version: "0.1.0",
    description: "Keeps nothing of an operation that is over.",

    grafast: {
      middleware: {
        prepareArgs(next, { args }) {
          // PgContextPlugin, which is before this, has set its own.
          Object.assign(args.contextValue as object, { withPgClient });
          return next();
        },
      },
    },
  };
}
