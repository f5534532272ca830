// Lets the observation of a request know what GraphQL was asked, and how long that waited for the
// database.
import type { Result } from "postgraphile/grafserv";
import { getOperationAST } from "graphql";
import { performance } from "node:perf_hooks";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import { observationOf, type Observation } from "../http/observe/observation.ts";

/** Names are the clients' own, of any length: the log has so many letters of them. */
const LONGEST_NAME = 100;

export const ObservedGraphqlPlugin: GraphileConfig.Plugin = {
  name: "ObservedGraphqlPlugin",
  version: "1.0.0",

  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const result = await next();
        const req = requestDigest.requestContext.expressv4?.req;
        const observation = req && observationOf(req);
        // What is not PostGraphile's to answer has no result.
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
        observation.operation = name?.slice(0, LONGEST_NAME);
        const context = args.contextValue as { withPgClient?: WithPgClient };
        if (context.withPgClient !== undefined) {
          context.withPgClient = timed(context.withPgClient, observation);
        }
        const result = await next();
        // Which they are is settled when they are put in words for the client.
        if ("errors" in result) observation.errors = [];
        return result;
      },
    },
  },
};

// The files of GraphiQL have names of their own.
const routeOf = (path: string): string =>
  path === "/graphql" || path === "/graphiql" ? path : "/ruru-static/*";

/** What an answer that has nothing but errors begins with: its query did not parse or fit. */
const ONLY_ERRORS = Buffer.from('{"errors":');

/** Longer answers are not read again only to be counted. */
const LONGEST_READ_BYTES = 100_000;

/** The codes of an answer's errors, empty where an error has none; undefined without errors. */
function errorsOf(result: Result, hasFailed: boolean): readonly string[] | undefined {
  if (result.type === "error") return [""];
  if (result.type !== "buffer") return undefined;
  const { buffer } = result;
  const isRefused = buffer.subarray(0, ONLY_ERRORS.length).equals(ONLY_ERRORS);
  if (!isRefused && !hasFailed) return undefined;
  if (buffer.length > LONGEST_READ_BYTES) return [""];
  const { errors } = JSON.parse(buffer.toString()) as {
    errors: { extensions?: { code?: unknown } }[];
  };
  return errors.map(({ extensions }) =>
    typeof extensions?.code === "string" ? extensions.code : "",
  );
}

/** Adds up the time in which at least one statement is waited for. */
function timed(withPgClient: WithPgClient, observation: Observation): WithPgClient {
  let waitedFor = 0;
  let since = 0;
  return async (settings, callback) => {
    if (waitedFor === 0) since = performance.now();
    waitedFor += 1;
    try {
      return await withPgClient(settings, callback);
    } finally {
      waitedFor -= 1;
      if (waitedFor === 0) {
        observation.databaseMs = (observation.databaseMs ?? 0) + performance.now() - since;
      }
    }
  };
}
