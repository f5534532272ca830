// Caches and compresses GraphQL's answers.
import type { IncomingMessage } from "node:http";
import type { BufferResult, Result } from "postgraphile/grafserv";
// Declares the context of Express's requests.
import type {} from "postgraphile/grafserv/express/v4";
import { COMPRESS_FROM_BYTES, encoded, encodingFor, type Answer } from "../answer.ts";
import { STANDING_HEADERS } from "../standing-headers.ts";
import type { AnswerCache } from "./answer-cache.ts";

const GRAPHQL = "/graphql";

/** An answer with these bytes has errors, or a field with that alias. */
const ERRORS = Buffer.from('"errors":');

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
          const isGood = isSuccess(own);
          own = await compressed(own, req);
          return isGood && isBuffer(own) ? asAnswer(own) : undefined;
        };
        const shared = cache === undefined ? await make() : await cache.share(req, make);
        if (own === undefined) await (shared === undefined && make());
        return own ?? (shared === undefined ? null : asResult(shared));
      },
    },
  },
});

const isBuffer = (result: Result | null): result is BufferResult => result?.type === "buffer";

const isSuccess = (result: Result | null): boolean =>
  isBuffer(result) && result.statusCode === 200 && !result.buffer.includes(ERRORS);

async function compressed(result: Result | null, req: IncomingMessage): Promise<Result | null> {
  if (!isBuffer(result)) return result;
  const headers = { ...result.headers, vary: "Accept-Encoding" };
  const encoding = encodingFor(req, "br", "gzip");
  if (encoding === "identity" || result.buffer.length < COMPRESS_FROM_BYTES) {
    return { ...result, headers };
  }
  const buffer = await encoded(result.buffer, encoding);
  const own = { "content-encoding": encoding, "content-length": String(buffer.length) };
  return { ...result, headers: { ...headers, ...own }, buffer };
}

const asAnswer = ({ headers, buffer }: BufferResult): Answer => ({
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
