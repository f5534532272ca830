// Refuses what HTTP/1.1 rules out and Node's parser lets pass, paths that do not decode, and URLs that are too long.
// Normalizes others, and the Accept header.
import { format, parse, type ContentType } from "content-type";
import type { IncomingMessage } from "node:http";
import {
  BrokenPath,
  MalformedRequest,
  TooManyParameters,
  UnknownTransferCoding,
  UnmetExpectation,
  UrlTooLong,
  type ClientFacingError,
} from "./errors.ts";
import type { Refuse } from "./refusal.ts";
import { locate, stateOf, type Step } from "./request.ts";

// Two of the longest symbols have 200 characters, each of up to 12 when it is percent-encoded.
const MAX_PATH = 2560;
// All parameters together are far shorter.
const MAX_QUERY = 2048;
const MAX_PARAMETERS = 50;

/** RFC 3986, 6.2.2.2: they need no encoding. After a broken encoding they could repair it. */
const ENCODED_UNRESERVED = /(?<!%.?)%(?:2[de]|3\d|[46][1-9a-f]|5[\daf]|7[\dae])/gi;

/** RFC 9112, 3.2.2: a client may send the whole URL. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;

export const normalizeOrRefuse =
  (refuse: Refuse): Step =>
  (next) =>
  (req, res) => {
    const { url = "", headers } = req;
    const error = headerProblem(req) ?? urlProblem(url);
    const normal = url.replace(ENCODED_UNRESERVED, decodeURIComponent);
    req.url = normal.startsWith("/")
      ? normal
      : normal.replace(ORIGIN, "").replace(/^(?!\/|\*$)/, "/");
    if (req.url !== url) locate(stateOf(req), req.url);
    if (headers.accept !== undefined) headers.accept = readableAccept(headers.accept);
    const problem = error ?? pathProblem(req.url);
    if (problem === undefined) next(req, res);
    else refuse(req, res, problem);
  };

/** Express's routes would answer a path that does not decode themselves. */
function pathProblem(url: string): ClientFacingError | undefined {
  const [path = ""] = url.split(/[?#]/, 1);
  // Most paths have nothing to decode.
  if (!path.includes("%")) return undefined;
  try {
    decodeURIComponent(path);
    return undefined;
  } catch {
    return new BrokenPath();
  }
}

function urlProblem(url: string): ClientFacingError | undefined {
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
  if (req.httpVersionMajor !== 1 || req.httpVersionMinor > 1) {
    return new MalformedRequest("The request must be HTTP/1.1 or HTTP/1.0");
  }
  const { expect, "transfer-encoding": coding } = req.headers;
  // `headers` has the first of several only.
  const hosts = hostHeaders(req);
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

/** What is wrong with a request for a WebSocket, which Express does not meet. */
export function upgradeProblem(req: IncomingMessage): ClientFacingError | undefined {
  const problem = headerProblem(req);
  if (problem !== undefined) return problem;
  // RFC 9110, 7.8 and 10.1.1: HTTP/1.0 has no upgrade, and who expects 100 would wait for it before 101.
  if (req.httpVersionMinor === 0) {
    return new MalformedRequest("A WebSocket must be asked for by HTTP/1.1");
  }
  return req.headers.expect === undefined
    ? undefined
    : new MalformedRequest("A request for a WebSocket must have no Expect header");
}

function hostHeaders({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
}

const MEDIA_RANGE = /^(?:\*\/\*|[^*/]+\/(?:\*|[^*/]+))$/;
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

// grafserv's own parser throws for an empty element. HTTP lets a server disregard the header.
/** The header with its well-formed elements only; without any, it accepts everything. */
export function readableAccept(header: string): string {
  const ranges: string[] = [];
  for (let start = 0; start < header.length;) {
    const element = parse(header, { comma: true, start });
    start = element.index + 1;
    if (isMediaRange(element)) ranges.push(asText(element));
  }
  return ranges.filter((range) => range !== "").join(", ") || "*/*";
}

const isMediaRange = ({ type, parameters: { q } }: ContentType): boolean =>
  MEDIA_RANGE.test(type) && (q === undefined || QUALITY.test(q));

/** Empty for a type or parameter with characters that HTTP does not allow. */
function asText(element: ContentType): string {
  try {
    return format(element);
  } catch {
    return "";
  }
}
