// Serves the OpenAPI document at /openapi.json, and a page at /docs to read and try it.
import { Router, type Request } from "express";
import { LRUCache } from "lru-cache";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { policyOf } from "../../server/http/content-security-policy.ts";
import { readOnlyRoute } from "../../server/http/read-only-route.ts";
import { encodingFor, etagAnswer, sendAnswer, type Answer } from "../../server/http/answer.ts";
import { standingHeadersWith } from "../../server/http/standing-headers.ts";

// The files change with a release only.
const CACHE_CONTROL = "public, max-age=300";

// Nothing is loaded from another host.
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>DEX market data: REST</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script>
      // The page fills a parameter in with its example, and no exchange but that of the examples has
      // trades there. A parameter without a default is left out unless the reader gives it; a $ref has neither.
      function withoutExamples() {
        const updateJsonSpec = (update) => (spec) => {
          for (const { get } of Object.values(spec.paths ?? {})) {
            for (const parameter of get.parameters ?? []) {
              if (!parameter.required && !("default" in (parameter.schema ?? {}))) delete parameter.example;
            }
          }
          return update(spec);
        };
        return { statePlugins: { spec: { wrapActions: { updateJsonSpec } } } };
      }
      SwaggerUIBundle({
        url: "/openapi.json",
        dom_id: "#reference",
        deepLinking: true,
        displayRequestDuration: true,
        validatorUrl: null,
        plugins: [withoutExamples],
      });
    </script>
  </body>
</html>
`;

const FILES: Record<string, { type: string; read: (req: Request) => Promise<string | Buffer> }> = {
  "/openapi.json": { type: "application/json", read: openapiFor },
  "/docs": { type: "text/html", read: () => Promise.resolve(PAGE) },
  "/docs/swagger-ui.css": { type: "text/css", read: () => ofSwaggerUi("swagger-ui.css") },
  "/docs/swagger-ui-bundle.js": {
    type: "text/javascript",
    read: () => ofSwaggerUi("swagger-ui-bundle.js"),
  },
};

const OF_THE_PAGE = standingHeadersWith(policyOf(PAGE));

/** Each file has an answer for each encoding, and the document one for each origin. */
const MOST_ANSWERS = 32;

export function referenceRouter(): Router {
  const router = Router({ caseSensitive: true });
  const answers = new LRUCache<string, Answer, () => Promise<Answer>>({
    max: MOST_ANSWERS,
    fetchMethod: (_key, _stale, { context: make }) => make(),
  });
  for (const [path, { type, read }] of Object.entries(FILES)) {
    readOnlyRoute(router, path, async (req, res) => {
      const encoding = encodingFor(req, "gzip");
      const key = [path, encoding, path === "/openapi.json" ? originOf(req) : ""].join("\n");
      const make = async (): Promise<Answer> => {
        const content = {
          type: `${type}; charset=utf-8`,
          cacheControl: CACHE_CONTROL,
          plain: await read(req),
          ...(path === "/docs" && { standing: OF_THE_PAGE }),
        };
        return etagAnswer(content, encoding);
      };
      sendAnswer(req, res, await answers.forceFetch(key, { context: make }));
    });
  }
  return router;
}

const ofSwaggerUi = (name: string): Promise<Buffer> =>
  readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));

const HOST = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i;

/** The address that was asked; relative where Host is no name. */
const originOf = ({ host, protocol }: Request): string =>
  HOST.test(host) ? `${protocol}://${host}` : "/";

/** Generators of clients resolve a relative address against the file that they read. */
async function openapiFor(req: Request): Promise<string> {
  const text = await readFile(new URL("openapi.json", import.meta.url), "utf8");
  return text.replace('"url": "/"', `"url": "${originOf(req)}"`);
}
