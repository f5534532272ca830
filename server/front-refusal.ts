// Refuses a request in front of Express, which costs more than the refusal.
import { IncomingMessage, ServerResponse, type OutgoingHttpHeader } from "node:http";
import { Socket } from "node:net";
import { headersOf } from "./cache/captured-response.ts";
import { readFromAnyOrigin } from "./cross-origin.ts";
import type { ClientFacingError } from "./errors.ts";
import { frontHeaders } from "./front-headers.ts";
import { graphqlCode } from "./graphql/error-codes.ts";
import { observationOf } from "./observe/observation.ts";
import type { RefusalBody } from "./refusal-body.ts";
import { securityHeaders } from "./security-headers.ts";

const GRAPHQL = /^\/graphql(?:\?|$)/;

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

/** What every refusal carries: whatever all answers of Express do, and that it is not to be kept. */
const HEADERS = [
  ...givenByExpress(),
  ...["Content-Type", "application/json; charset=utf-8"],
  ...["Cache-Control", "no-store"],
];

function givenByExpress(): OutgoingHttpHeader[] {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  for (const give of [securityHeaders, readFromAnyOrigin]) give(req, res, () => undefined);
  return headersOf(res);
}

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
    const length = ["Content-Length", String(Buffer.byteLength(body))];
    const headers = [...HEADERS, ...Object.entries(error.headers).flat(), ...length];
    res.writeHead(error.status, [...headers, ...frontHeaders(req)]).end(body);
  };
}
