// The headers that every answer carries, whatever was asked: helmet's and those of CORS.
import { IncomingMessage, ServerResponse, type OutgoingHttpHeader } from "node:http";
import { Socket } from "node:net";
import { headersOf } from "./cache/captured-response.ts";
import { readFromAnyOrigin } from "./cross-origin.ts";
import { securityHeaders } from "./security-headers.ts";

/**
 * Names and values in turn, for who gives `writeHead` all headers of an answer as one list: Node then
 * checks and joins them once, where each that is set by itself is kept, looked up and joined again.
 */
export const STANDING_HEADERS: readonly OutgoingHttpHeader[] = givenByExpress();

function givenByExpress(): OutgoingHttpHeader[] {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  for (const give of [securityHeaders, readFromAnyOrigin]) give(req, res, () => undefined);
  return headersOf(res);
}

/** The same with another content security policy, for a page. */
export const standingHeadersWith = (policy: string): OutgoingHttpHeader[] =>
  STANDING_HEADERS.map((header, n) =>
    STANDING_HEADERS[n - 1] === "Content-Security-Policy" ? policy : header,
  );
