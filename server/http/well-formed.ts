// Refuses the requests that HTTP/1.1 rules out and Node's parser lets pass.
import type { IncomingMessage, RequestListener } from "node:http";
import {
  NotOneHost,
  UnknownTransferCoding,
  UnmetExpectation,
  type ClientFacingError,
} from "./errors.ts";
import type { Refuse } from "./refusal.ts";

/** Hands on what is not refused. */
export const refuseMalformed =
  (next: RequestListener, refuse: Refuse): RequestListener =>
  (req, res) => {
    const error = problemOf(req);
    if (error === undefined) next(req, res);
    else refuse(req, res, error);
  };

function problemOf(req: IncomingMessage): ClientFacingError | undefined {
  const { expect, "transfer-encoding": coding } = req.headers;
  const hosts = countOf(req.rawHeaders, "host");
  if (hosts > 1 || (hosts === 0 && req.httpVersionMinor === 1)) return new NotOneHost(hosts);
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked") {
    return new UnknownTransferCoding();
  }
  // As Node knows the expectation that it meets itself.
  if (expect !== undefined && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
    return new UnmetExpectation();
  }
  return undefined;
}

/** Node keeps the first of several headers only, where a second makes no sense. */
function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const given = rawHeaders[n] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}
