// Serves an index of the interfaces at `/`: HTML for browsers, else JSON.
import { Router } from "express";
import { encodingFor, etagAnswer, sendAnswer } from "./answer.ts";
import { policyOf } from "./content-security-policy.ts";
import { readOnlyRoute } from "./read-only-route.ts";
import { standingHeadersWith } from "./standing-headers.ts";

const INTERFACES = [
  { path: "/v1/markets/", name: "REST v1", description: "the overview of every active market" },
  { path: "/v2/summary", name: "REST v2", description: "the last 24 hours of every pair" },
  { path: "/docs", name: "REST reference", description: "every path of REST, to read and try" },
  { path: "/openapi.json", name: "OpenAPI", description: "the same as an OpenAPI document" },
  {
    path: "/graphql",
    name: "GraphQL",
    description: "takes POST with query, variables and operationName in JSON",
  },
  { path: "/graphiql", name: "GraphiQL", description: "the schema and queries, to read and try" },
  { path: "/health", name: "Health", description: "200 while the process lives" },
  { path: "/ready", name: "Readiness", description: "200 when the service can serve" },
];

/** GET would be refused. */
const NOT_FOR_GET = "/graphql";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>DEX market data</title>
    <link rel="icon" href="data:,">
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 44rem; padding: 0 1rem; }
      dt { font-weight: 600; margin-top: 1rem; }
      dd { margin: 0; }
    </style>
  </head>
  <body>
    <h1>DEX market data</h1>
    <p>The market data of a decentralized exchange, open and read-only.</p>
    <dl>
${INTERFACES.map(
  ({ path, name, description }) => `      <dt>${name}</dt>
      <dd>${path === NOT_FOR_GET ? `<code>${path}</code>` : `<a href="${path}">${path}</a>`} ${description}</dd>`,
).join("\n")}
    </dl>
  </body>
</html>
`;

const JSON_INDEX = JSON.stringify({ interfaces: INTERFACES });
const OF_THE_PAGE = standingHeadersWith(policyOf(PAGE));

const COMMON = {
  // It changes with a release only.
  cacheControl: "public, max-age=300",
  vary: "Accept, Accept-Encoding",
};

export function indexRouter(): Router {
  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/", async (req, res) => {
    const isPage = req.accepts(["application/json", "text/html"]) === "text/html";
    const content = isPage
      ? { ...COMMON, type: "text/html; charset=utf-8", plain: PAGE, standing: OF_THE_PAGE }
      : { ...COMMON, type: "application/json; charset=utf-8", plain: JSON_INDEX };
    sendAnswer(req, res, await etagAnswer(content, encodingFor(req, "gzip")));
  });
  return router;
}
