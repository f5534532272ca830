// Sets the content security policy of the GraphiQL page, the query of its address, and the caching headers of its
// files.
import fresh from "fresh";
import type { IncomingMessage } from "node:http";
import type { RequestDigest, Result } from "postgraphile/grafserv";
import { policyOf } from "../http/content-security-policy.ts";
// Declares the request in grafserv's context.
import type {} from "postgraphile/grafserv/node";

/** `/graphiql?query=…` opens with that query. */
const QUERY_OF_ADDRESS = `
    <script>
      RURU_CONFIG.initialQuery = new URLSearchParams(location.search).get("query") ?? undefined;
    </script>
  `;

export const PagePolicyPlugin: GraphileConfig.Plugin = {
  name: "PagePolicyPlugin",
  description: "Sets the content security policy of the GraphiQL page.",
  grafserv: {
    middleware: {
      async ruruHTML(next, event) {
        // Without this the browser requests /favicon.ico, which does not exist.
        event.htmlParts.metaTags += '<link rel="icon" href="data:,">';
        event.htmlParts.configScript += QUERY_OF_ADDRESS;
        const html = await next();
        event.request.requestContext.node?.res.setHeader("Content-Security-Policy", policyOf(html));
        return html;
      },
    },
  },
};

/** Makes a file of GraphiQL, with `Vary` and an ETag for each encoding; 304 where the client has it. */
export async function fileForCaches(
  make: () => PromiseLike<Result | null> | Result | null,
  { headers: asked }: RequestDigest,
  req: IncomingMessage,
): Promise<Result | null> {
  // grafserv compares it to a tag that does not distinguish the encodings.
  delete asked["if-none-match"];
  const result = await make();
  if (result?.type !== "buffer") return result;
  const { etag: tag, "content-encoding": encoding, ...others } = result.headers;
  const etag = encoding === undefined ? tag : tag?.replace(/"$/, `-${encoding}"`);
  const own = { vary: "Accept-Encoding", ...(etag !== undefined && { etag }) };
  if (etag !== undefined && fresh(req.headers, { etag })) {
    return { type: "noContent", statusCode: 304, headers: own };
  }
  const encoded = encoding !== undefined && { "content-encoding": encoding };
  return { ...result, headers: { ...others, ...encoded, ...own } };
}
