// Serves the descriptions: OpenAPI and AsyncAPI, a page at /docs to read and try REST, and /llms.txt.
import { Router } from "express";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { asyncapiAt } from "../asyncapi/asyncapi-document.ts";
import { described } from "./openapi-document.ts";
import { llmsText } from "./llms.ts";
import { policyOf } from "../../http/content-security-policy.ts";
import { serveReleaseFile, type ReleaseFile } from "../../http/release-files.ts";
import { fixedHeadersWith } from "../../http/fixed-headers.ts";

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
      // trades there. A parameter without a default is left out unless the reader gives it.
      function withoutExamples() {
        const updateJsonSpec = (update) => (spec) => {
          const inPaths = Object.values(spec.paths ?? {}).flatMap(({ get }) => get.parameters ?? []);
          const named = Object.values(spec.components?.parameters ?? {});
          // A $ref has neither.
          for (const parameter of [...inPaths, ...named]) {
            if (!parameter.required && !("default" in (parameter.schema ?? {}))) delete parameter.example;
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

const ofSwaggerUi = (name: string) => (): Promise<Buffer> =>
  readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));

/** With `publicUrl` in place of the relative server, which clients resolve against where the document is from. */
async function openapiAt(publicUrl: string | undefined): Promise<string> {
  const text = await readFile(new URL("openapi.json", import.meta.url), "utf8");
  return publicUrl === undefined
    ? text
    : text.replace('"url": "/"', () => `"url": ${JSON.stringify(publicUrl)}`);
}

const asyncapiText = async (publicUrl: string | undefined): Promise<string> =>
  asyncapiAt(
    await readFile(new URL("../asyncapi/asyncapi.json", import.meta.url), "utf8"),
    publicUrl,
  );

const filesAt = (publicUrl: string | undefined): Record<string, ReleaseFile> => ({
  "/openapi.json": { type: "application/json", read: () => openapiAt(publicUrl) },
  "/asyncapi.json": { type: "application/json", read: () => asyncapiText(publicUrl) },
  "/llms.txt": {
    type: "text/markdown",
    read: () => Promise.resolve(llmsText(described, publicUrl)),
  },
  "/docs": {
    type: "text/html",
    read: () => Promise.resolve(PAGE),
    fixed: fixedHeadersWith(policyOf(PAGE)),
  },
  "/docs/swagger-ui.css": { type: "text/css", read: ofSwaggerUi("swagger-ui.css") },
  "/docs/swagger-ui-bundle.js": {
    type: "text/javascript",
    read: ofSwaggerUi("swagger-ui-bundle.js"),
  },
});

/** No header of a request goes into the document: shared caches keep it. */
export function referenceRouter(publicUrl: string | undefined): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, file] of Object.entries(filesAt(publicUrl))) {
    serveReleaseFile(router, path, file);
  }
  return router;
}
