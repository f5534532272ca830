// Refuses a request in front of Express, which costs more than the refusal.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientFacingError } from "./errors.ts";
import { graphqlCode } from "./graphql/error-codes.ts";
import type { RefusalBody } from "./http-server.ts";

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

/** Any page may read why it was refused, and when it may ask again. */
const HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Retry-After, RateLimit, RateLimit-Policy, X-Request-Id",
};

/** Makes what answers with an error's status, headers and message, in the interface's own form. */
export function refuseBy(bodyOf: RefusalBody): Refuse {
  return (req, res, error) => {
    const body = JSON.stringify(bodyOf(req.url ?? "", error.message, graphqlCode(error)));
    const length = { "Content-Length": Buffer.byteLength(body) };
    res.writeHead(error.status, { ...HEADERS, ...error.headers, ...length }).end(body);
  };
}
