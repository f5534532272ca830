// Refuses what HTTP/1.1 rules out and Node's parser lets pass, and URLs that are too long; normalizes others.
import type { IncomingMessage, RequestListener } from "node:http";
import {
  MalformedRequest,
  TooManyParameters,
  UnknownTransferCoding,
  UnmetExpectation,
  UrlTooLong,
  type ClientFacingError,
} from "./errors.ts";
import type { Refuse } from "./refusal.ts";

// The longest symbols, each letter percent-encoded, and all parameters together are far shorter.
const MAX_PATH = 1024;
const MAX_QUERY = 2048;
const MAX_PARAMETERS = 50;

/** RFC 3986, 6.2.2.2: they need no encoding. After a broken encoding they could repair it. */
const ENCODED_UNRESERVED = /(?<!%.?)%(?:2[de]|3\d|[46][1-9a-f]|5[\daf]|7[\dae])/gi;

export const normalizeOrRefuse =
  (next: RequestListener, refuse: Refuse): RequestListener =>
  (req, res) => {
    const error = headerProblem(req) ?? urlProblem(req);
    req.url = req.url?.replace(ENCODED_UNRESERVED, decodeURIComponent) ?? "";
    if (error === undefined) next(req, res);
    else refuse(req, res, error);
  };

function urlProblem({ url = "" }: IncomingMessage): ClientFacingError | undefined {
  // Express would throw outside a request's error handling, and never answer.
  if (!url.startsWith("/") && url !== "*" && !URL.canParse(url)) {
    return new MalformedRequest("The URL of the request cannot be read");
  }
  const queryAt = url.indexOf("?");
  const pathLength = queryAt < 0 ? url.length : queryAt;
  if (pathLength > MAX_PATH) return new UrlTooLong("path", MAX_PATH);
  if (url.length - pathLength - 1 > MAX_QUERY) return new UrlTooLong("query string", MAX_QUERY);
  // The limit of `split` bounds its work.
  const parameters = queryAt < 0 ? [] : url.slice(queryAt).split("&", MAX_PARAMETERS + 1);
  return parameters.length > MAX_PARAMETERS ? new TooManyParameters(MAX_PARAMETERS) : undefined;
}

function headerProblem(req: IncomingMessage): ClientFacingError | undefined {
  if (!/^1\.[01]$/.test(req.httpVersion)) {
    return new MalformedRequest("The request must be HTTP/1.1 or HTTP/1.0");
  }
  const { expect, "transfer-encoding": coding } = req.headers;
  // `headers` has the first of several only.
  const hosts = req.rawHeaders.filter((name, n) => n % 2 === 0 && /^host$/i.test(name)).length;
  if (hosts > 1) return new MalformedRequest("The request has two Host headers");
  if (hosts === 0 && req.httpVersionMinor === 1) {
    return new MalformedRequest("The request has no Host header");
  }
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked") {
    return new UnknownTransferCoding();
  }
  // The pattern is Node's own for the expectation that it meets.
  const isMet = expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
  return isMet ? undefined : new UnmetExpectation();
}
