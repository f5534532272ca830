// The interfaces of the service: the JSON index at `/` and the links of every page.

export const INTERFACES = [
  { path: "/v1/markets/", name: "REST v1", description: "the overview of every active market" },
  { path: "/v2/summary", name: "REST v2", description: "the last 24 hours of every pair" },
  { path: "/docs", name: "REST reference", description: "every path of REST, to read and try" },
  { path: "/openapi.json", name: "OpenAPI", description: "the same as an OpenAPI document" },
  { path: "/asyncapi.json", name: "AsyncAPI", description: "the event stream and subscriptions" },
  { path: "/llms.txt", name: "llms.txt", description: "the reference as Markdown, for assistants" },
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
export const NOT_FOR_GET = "/graphql";
