// Refuses a request in front of Express, which costs more than the refusal.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientFacingError } from "./errors.ts";
import { andFrontHeaders } from "./front-headers.ts";
import { graphqlCode } from "./error-codes.ts";
import { observationOf } from "./observe/observation.ts";
import type { RefusalBody } from "./refusal-body.ts";
import { sendRefusal } from "./send-refusal.ts";

const GRAPHQL = /^\/graphql(?:\?|$)/;

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

/** Makes what answers with an error's status, headers and message, in the interface's own form. */
export function refuseBy(bodyOf: RefusalBody): Refuse {
  return (req, res, error) => {
    const url = urlOf(req);
    const code = graphqlCode(error);
    const observation = observationOf(req);
    // No other route is known yet, and none is needed to tell why.
    if (observation !== undefined && GRAPHQL.test(url)) {
      observation.route = "/graphql";
      observation.errors = [code ?? ""];
    }
    sendRefusal(res, error, bodyOf(url, error.message, code), andFrontHeaders([], req));
  };
}

/**
 * What was asked, whole: Express takes from `url` what a router is mounted at, and a request may be
 * refused while it is answered there, when the client goes on with what is no HTTP.
 */
function urlOf({ originalUrl, url = "" }: IncomingMessage & { originalUrl?: string }): string {
  return originalUrl ?? url;
}
