// Records the operation name, the error codes and the database time of a GraphQL request.
import type { Result } from "postgraphile/grafserv";
import { getOperationAST } from "graphql";
import { performance } from "node:perf_hooks";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import { observationOf, type Observation } from "../http/observe/observation.ts";

/** Clients choose operation names of any length: the log has a prefix. */
const MAX_NAME_LENGTH = 100;

export const ObservedGraphqlPlugin: GraphileConfig.Plugin = {
  name: "ObservedGraphqlPlugin",
  version: "1.0.0",

  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const result = await next();
        const req = requestDigest.requestContext.expressv4?.req;
        const observation = req && observationOf(req);
        // grafserv returns no result for a path that it does not serve.
        if (result && observation) {
          observation.route = routeOf(requestDigest.path);
          observation.errors = errorsOf(result, observation.errors !== undefined);
        }
        return result;
      },
    },
  },

  grafast: {
    middleware: {
      async execute(next, { args }) {
        const req = args.requestContext?.expressv4?.req;
        const observation = req && observationOf(req);
        if (observation === undefined) return next();
        const name = getOperationAST(args.document, args.operationName)?.name?.value;
        observation.operation = name?.slice(0, MAX_NAME_LENGTH);
        const context = args.contextValue as { withPgClient?: WithPgClient };
        if (context.withPgClient !== undefined) {
          context.withPgClient = timed(context.withPgClient, observation);
        }
        const result = await next();
        // The codes are known only after the errors are masked.
        if ("errors" in result) observation.errors = [];
        return result;
      },
    },
  },
};

// One label for all files of GraphiQL.
const routeOf = (path: string): string =>
  path === "/graphql" || path === "/graphiql" ? path : "/ruru-static/*";

/** A response with only errors starts with them: the query did not parse or validate. */
const ONLY_ERRORS = Buffer.from('{"errors":');

/** A longer response is not parsed again only to count its errors. */
const MAX_PARSED_BYTES = 100_000;

/** The codes of a response's errors, "" for an error without a code; undefined without errors. */
function errorsOf(result: Result, hasFailed: boolean): readonly string[] | undefined {
  if (result.type === "error") return [""];
  if (result.type !== "buffer") return undefined;
  const { buffer } = result;
  const hasOnlyErrors = buffer.subarray(0, ONLY_ERRORS.length).equals(ONLY_ERRORS);
  if (!hasOnlyErrors && !hasFailed) return undefined;
  if (buffer.length > MAX_PARSED_BYTES) return [""];
  const { errors } = JSON.parse(buffer.toString()) as {
    errors: { extensions?: { code?: unknown } }[];
  };
  return errors.map(({ extensions }) =>
    typeof extensions?.code === "string" ? extensions.code : "",
  );
}

/** Measures the time in which at least one statement runs. */
function timed(withPgClient: WithPgClient, observation: Observation): WithPgClient {
  let running = 0;
  let since = 0;
  return async (settings, callback) => {
    if (running === 0) since = performance.now();
    running += 1;
    try {
      return await withPgClient(settings, callback);
    } finally {
      running -= 1;
      if (running === 0) {
        observation.databaseMs = (observation.databaseMs ?? 0) + performance.now() - since;
      }
    }
  };
}
