// Refuses a request in front of Express, which costs more than the refusal.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientFacingError } from "./errors.ts";
import { graphqlCode } from "./graphql/error-codes.ts";
import type { RefusalBody } from "./http-server.ts";
import { observationOf } from "./observe/observation.ts";

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

/** Any page may read why it was refused, and when it may ask again. */
const HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Retry-After, RateLimit, RateLimit-Policy, X-Request-Id",
};

const GRAPHQL = /^\/graphql(?:\?|$)/;

/** Makes what answers with an error's status, headers and message, in the interface's own form. */
export function refuseBy(bodyOf: RefusalBody): Refuse {
  return (req, res, error) => {
    const { url = "" } = req;
    const code = graphqlCode(error);
    const observation = observationOf(req);
    // No other route is known yet, and none is needed to tell why.
    if (observation !== undefined && GRAPHQL.test(url)) {
      observation.route = "/graphql";
      observation.errors = [code ?? ""];
    }
    const body = JSON.stringify(bodyOf(url, error.message, code));
    const length = { "Content-Length": Buffer.byteLength(body) };
    res.writeHead(error.status, { ...HEADERS, ...error.headers, ...length }).end(body);
  };
}
