// Spans of GraphQL's operations and of REST's endpoints.
import type { Tracer } from "@opentelemetry/api";
import { getOperationAST } from "graphql";
// Declares grafast's middleware, and the request in grafserv's context.
import type {} from "postgraphile";
import type {} from "postgraphile/grafserv/node";
import { stateIn } from "../http/request.ts";
import type { Endpoint, Version } from "../rest/endpoint.ts";
import { sampledTrace, withinSpan } from "./request-spans.ts";

/** Clients choose names of any length. */
const MAX_NAME_LENGTH = 100;

export const makeOperationSpansPlugin = (tracer: Tracer): GraphileConfig.Plugin => ({
  name: "OperationSpansPlugin",
  description: "Makes a span of each operation.",

  grafast: {
    middleware: {
      execute(next, { args }) {
        const state = stateIn(args.requestContext);
        const requestTrace = state && sampledTrace(state);
        if (requestTrace === undefined) return next();
        const operation = getOperationAST(args.document, args.operationName);
        const type = operation?.operation ?? "query";
        const name = operation?.name?.value.slice(0, MAX_NAME_LENGTH);
        const attributes = { "graphql.operation.type": type, "graphql.operation.name": name };
        const span = tracer.startSpan(
          name === undefined ? type : `${type} ${name}`,
          { attributes },
          requestTrace.context,
        );
        return withinSpan(span, requestTrace, next);
      },
    },
  },
});

export const withEndpointSpans = (version: Version, tracer: Tracer): Version => ({
  ...version,
  endpoints: version.endpoints.map((declared) => withSpan(declared, version.name, tracer)),
});

const withSpan = (declared: Endpoint, version: string, tracer: Tracer): Endpoint => ({
  ...declared,
  find: (...asked) => {
    const requestTrace = sampledTrace();
    if (requestTrace === undefined) return declared.find(...asked);
    const span = tracer.startSpan(`${version} ${declared.id}`, {}, requestTrace.context);
    return withinSpan(span, requestTrace, () => declared.find(...asked));
  },
});
