// Caches and compresses GraphQL's answers.
import type { IncomingMessage } from "node:http";
import type { BufferResult, Result } from "postgraphile/grafserv";
// Declares the context of Express's requests.
import type {} from "postgraphile/grafserv/express/v4";
import { COMPRESS_FROM_BYTES, encoded, encodingFor, type Answer } from "../answer.ts";
import { HeadBehind } from "../errors.ts";
import { headOf, isTooOld, minBlockOf, type AnswerBlock } from "../min-block.ts";
import { observationOf } from "../observe/observation.ts";
import { STANDING_HEADERS } from "../standing-headers.ts";
import type { AnswerCache } from "./answer-cache.ts";

const GRAPHQL = "/graphql";

/** Shares and keeps each answer without errors. */
export const makeGraphqlAnswersPlugin = (
  cache: AnswerCache | undefined,
): GraphileConfig.Plugin => ({
  name: "GraphqlAnswersPlugin",
  version: "1.0.0",

  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const req = requestDigest.requestContext.expressv4?.req;
        if (req === undefined || requestDigest.path !== GRAPHQL) return next();
        let own: Result | null | undefined;
        const make = async (): Promise<Answer | undefined> => {
          own = await next();
          const isGood = isSuccess(own, req);
          own = await compressed(own, req, headOf(req));
          return isGood && isBuffer(own) ? asAnswer(own, headOf(req)) : undefined;
        };
        const shared = cache === undefined ? await make() : await cache.share(req, make);
        if (own === undefined && (shared === undefined || isTooOld(req, shared.block)))
          await make();
        if (own === undefined) return shared === undefined ? null : asResult(shared);
        const block = headOf(req);
        return isTooOld(req, block) ? behind(block ?? null, req) : own;
      },
    },
  },
});

const isBuffer = (result: Result | null): result is BufferResult => result?.type === "buffer";

// ObservedGraphqlPlugin, which runs within this plugin, has noted the errors.
const isSuccess = (result: Result | null, req: IncomingMessage): boolean =>
  isBuffer(result) && result.statusCode === 200 && observationOf(req)?.errors === undefined;

async function compressed(
  result: Result | null,
  req: IncomingMessage,
  block: AnswerBlock,
): Promise<Result | null> {
  if (!isBuffer(result)) return result;
  const named = block == null ? {} : { "x-head-block": String(block) };
  const headers = { ...result.headers, vary: "Accept-Encoding", ...named };
  const encoding = encodingFor(req, "br", "gzip");
  if (encoding === "identity" || result.buffer.length < COMPRESS_FROM_BYTES) {
    return { ...result, headers };
  }
  const buffer = await encoded(result.buffer, encoding);
  const own = { "content-encoding": encoding, "content-length": String(buffer.length) };
  return { ...result, headers: { ...headers, ...own }, buffer };
}

/** The snapshot is older than the request's block: a reorganisation has taken that block back. */
const behind = (block: number | null, req: IncomingMessage): Result => ({
  type: "error",
  statusCode: 503,
  headers: {},
  error: new HeadBehind(block, minBlockOf(req) ?? 0),
});

const asAnswer = ({ headers, buffer }: BufferResult, block: AnswerBlock): Answer => ({
  block,
  headers: [...STANDING_HEADERS, ...Object.entries(headers).flat()],
  body: buffer,
  etag: undefined,
});

/** Express has set the standing headers already. */
function asResult({ headers, body }: Answer): BufferResult {
  const own = headers.slice(STANDING_HEADERS.length).map(String);
  const pairs = own.flatMap((name, n) => (n % 2 === 0 ? [[name, own[n + 1] ?? ""] as const] : []));
  return { type: "buffer", statusCode: 200, headers: Object.fromEntries(pairs), buffer: body };
}
