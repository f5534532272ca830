// Caches and compresses GraphQL's answers, and notes what is reported of each.
import { performance } from "node:perf_hooks";
import type { IncomingMessage } from "node:http";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import type { BufferResult, Result } from "postgraphile/grafserv";
// Declares the request in grafserv's context.
import type {} from "postgraphile/grafserv/node";
import {
  bytesOf,
  CACHE_CONTROL,
  CACHE_CONTROL_OF_FINAL,
  COMPRESS_FROM_BYTES,
  encoded,
  encodingFor,
  etagOf,
  type Answer,
  type Encoding,
} from "../http/answer.ts";
import type { AnswerCache } from "../http/cache/answer-cache.ts";
import { HeadBehind } from "../http/errors.ts";
import { GRAPHQL_PATH, isTooOld, stateIn, stateOf, type RequestState } from "../http/request.ts";
import { FIXED_HEADERS } from "../http/fixed-headers.ts";
import { fileForCaches } from "./graphiql-policy.ts";

/** Shares and keeps each answer without errors. */
export const makeGraphqlAnswersPlugin = (
  cache: AnswerCache | undefined,
): GraphileConfig.Plugin => ({
  name: "GraphqlAnswersPlugin",

  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const req = requestDigest.requestContext.node?.req;
        if (req === undefined) return next();
        const state = stateOf(req);
        if (!state.isForGraphql) {
          const file = await fileForCaches(next, requestDigest, req);
          return observed(file, requestDigest.path, state);
        }
        let own: Result | null | undefined;
        const make = async (): Promise<Answer | undefined> => {
          own = observed(await next(), requestDigest.path, state);
          const isGood = isSuccess(own, state);
          own = await compressed(own, req, state, isGood);
          return isGood && isBuffer(own) ? asAnswer(own, state) : undefined;
        };
        const shared = cache === undefined ? await make() : await cache.share(req, make);
        if (own === undefined && (shared === undefined || isTooOld(state, shared.block)))
          await make();
        if (own === undefined) return shared === undefined ? null : asResult(shared);
        return isTooOld(state, state.head) ? behind(state) : own;
      },
    },
  },

  grafast: {
    middleware: {
      async execute(next, { args }) {
        const state = stateIn(args.requestContext);
        if (state === undefined) return next();
        const context = args.contextValue as { withPgClient?: WithPgClient };
        if (context.withPgClient !== undefined) {
          context.withPgClient = timed(context.withPgClient, state);
        }
        const result = await next();
        // The codes are known only after the errors are masked.
        if ("errors" in result) state.errors = [];
        return result;
      },
    },
  },
});

const isBuffer = (result: Result | null): result is BufferResult => result?.type === "buffer";

const isSuccess = (result: Result | null, { errors }: RequestState): boolean =>
  isBuffer(result) && result.statusCode === 200 && errors === undefined;

async function compressed(
  result: Result | null,
  req: IncomingMessage,
  { head, asOf, isFinal }: RequestState,
  isGood: boolean,
): Promise<Result | null> {
  if (!isBuffer(result)) return result;
  const block = asOf ?? head;
  const named = block == null ? {} : { "x-head-block": String(block) };
  const isByUrl = req.method !== "POST";
  const wanted = isByUrl ? encodingFor(req, "gzip") : encodingFor(req, "br", "gzip");
  const encoding = result.buffer.length < COMPRESS_FROM_BYTES ? "identity" : wanted;
  const negotiated = isByUrl
    ? {
        vary: "Accept, Accept-Encoding, X-Min-Block",
        ...forCaches(result.buffer, encoding, { isGood, isFinal }),
      }
    : { vary: "Accept-Encoding" };
  const headers = { ...result.headers, ...negotiated, ...named };
  if (encoding === "identity") return { ...result, headers };
  const buffer = await encoded(result.buffer, encoding);
  const own = { "content-encoding": encoding, "content-length": String(buffer.length) };
  return { ...result, headers: { ...headers, ...own }, buffer };
}

/** Caches in front keep the answer to a GET, as one of REST, but none with an error. */
const forCaches = (
  plain: Buffer,
  encoding: Encoding,
  { isGood, isFinal }: Record<"isGood" | "isFinal", boolean>,
) =>
  isGood
    ? {
        "cache-control": isFinal ? CACHE_CONTROL_OF_FINAL : CACHE_CONTROL,
        etag: etagOf(plain, encoding),
      }
    : { "cache-control": "no-store" };

/** The snapshot is older than the request's block: a reorganisation has taken that block back. */
const behind = ({ head = null, minBlock = 0 }: RequestState): Result => ({
  type: "error",
  statusCode: 503,
  headers: {},
  error: new HeadBehind(head, minBlock),
});

const asAnswer = (
  { headers, buffer }: BufferResult,
  { head: block, asOf }: RequestState,
): Answer => ({
  block,
  isPast: asOf !== undefined,
  headers: [...FIXED_HEADERS, ...Object.entries(headers).flat()],
  body: buffer,
  // Of a GET.
  etag: headers["etag"],
});

/** They are sent with the fixed headers. */
function asResult({ headers, body }: Answer): BufferResult {
  const own = headers.slice(FIXED_HEADERS.length).map(String);
  const pairs = own.flatMap((name, n) => (n % 2 === 0 ? [[name, own[n + 1] ?? ""] as const] : []));
  const buffer = bytesOf(body);
  return { type: "buffer", statusCode: 200, headers: Object.fromEntries(pairs), buffer };
}

/** grafserv returns no result for a path that it does not serve. */
function observed(result: Result | null, path: string, state: RequestState): Result | null {
  if (result === null) return result;
  state.route = routeOf(path);
  const errors = errorsOf(result, state.errors !== undefined);
  state.errors = errors?.map(({ code }) => (typeof code === "string" ? code : ""));
  return isBuffer(result) && result.statusCode === NOT_EXECUTED
    ? withStatus(result, errors ?? [])
    : result;
}

/** grafserv's status for an answer without data, in the newer media type. */
const NOT_EXECUTED = 400;

/** Of errors that are not the client's own: a balancer and a client may ask again. */
const STATUSES: Record<string, number> = {
  UNAVAILABLE: 503,
  LOCKED: 503,
  INTERNAL_SERVER_ERROR: 500,
};

/** The status of the error that REST answers with another one than 400, and when to ask again. */
function withStatus(result: BufferResult, errors: readonly Extensions[]): BufferResult {
  for (const { code, retryAfter } of errors) {
    const statusCode = STATUSES[String(code)];
    if (statusCode === undefined) continue;
    const again = typeof retryAfter === "number" && { "Retry-After": String(retryAfter) };
    return { ...result, statusCode, headers: { ...result.headers, ...again } };
  }
  return result;
}

// One label for all files of GraphiQL.
const routeOf = (path: string): string =>
  path === GRAPHQL_PATH || path === "/graphiql" ? path : "/ruru-static/*";

/** A response with only errors starts with them: the query did not parse or validate. */
const ONLY_ERRORS = Buffer.from('{"errors":');

/** A longer response is not parsed again only to count its errors. */
const MAX_PARSED_BYTES = 100_000;

interface Extensions {
  code?: unknown;
  retryAfter?: unknown;
}

/** The extensions of a response's errors; undefined without errors. */
function errorsOf(result: Result, hasFailed: boolean): readonly Extensions[] | undefined {
  if (result.type === "error") return [{}];
  if (result.type !== "buffer") return undefined;
  const { buffer } = result;
  const hasOnlyErrors = buffer.subarray(0, ONLY_ERRORS.length).equals(ONLY_ERRORS);
  if (!hasOnlyErrors && !hasFailed) return undefined;
  if (buffer.length > MAX_PARSED_BYTES) return [{}];
  const { errors } = JSON.parse(buffer.toString()) as { errors: { extensions?: Extensions }[] };
  return errors.map(({ extensions }) => extensions ?? {});
}

/** Measures the time in which at least one statement runs. */
function timed(withPgClient: WithPgClient, state: RequestState): WithPgClient {
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
        state.databaseMs = (state.databaseMs ?? 0) + performance.now() - since;
      }
    }
  };
}
