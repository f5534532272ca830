// Serves the OpenAPI document at /openapi.json, and at /docs the page on which people read and try it.
import { Router } from "express";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { policyOf } from "../../server/http/content-security-policy.ts";
import { readOnlyRoute } from "../../server/http/read-only-route.ts";
import { STANDING_HEADERS, standingHeadersWith } from "../../server/http/standing-headers.ts";
import { answerTagged, gzip, tagOf, type Tagged } from "../../server/http/etag-answer.ts";

/** What the service brings changes with a release only; a browser asks again after five minutes. */
const CACHE_CONTROL = "public, max-age=300";

// Nothing is fetched from another host: no font, no validator, no icon.
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
      SwaggerUIBundle({
        url: "/openapi.json",
        dom_id: "#reference",
        deepLinking: true,
        displayRequestDuration: true,
        validatorUrl: null,
      });
    </script>
  </body>
</html>
`;

const OF_THE_PAGE = standingHeadersWith(policyOf(PAGE));

/** `/openapi.json`, `/docs`, and the files of the page below that. */
export function referenceRouter(): Router {
  const router = Router({ caseSensitive: true });
  publish("/openapi.json", "application/json", () =>
    readFile(new URL("openapi.json", import.meta.url)),
  );
  publish("/docs", "text/html", () => PAGE, OF_THE_PAGE);
  publish("/docs/swagger-ui.css", "text/css", ofSwaggerUi("swagger-ui.css"));
  publish("/docs/swagger-ui-bundle.js", "text/javascript", ofSwaggerUi("swagger-ui-bundle.js"));
  return router;

  function publish(
    path: string,
    type: string,
    read: () => Tagged["plain"] | Promise<Tagged["plain"]>,
    standing = STANDING_HEADERS,
  ): void {
    const file = once(async () => ({
      ...fileOf(`${type}; charset=utf-8`, await read()),
      standing,
    }));
    readOnlyRoute(router, path, async (req, res) => {
      await answerTagged(req, res, await file());
    });
  }
}

const ofSwaggerUi = (name: string) => () =>
  readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));

function fileOf(type: string, plain: Tagged["plain"]): Tagged {
  return {
    type,
    cacheControl: CACHE_CONTROL,
    plain,
    tag: tagOf(plain),
    compressed: once(() => gzip(plain)),
  };
}

/** Makes a thing when it is first asked for, and then gives the same; what fails is made anew. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}
