// What goes wrong, as it is described in OpenAPI: the failures that any path may be answered with.
import { OF_ANY_ORIGIN, OF_THE_LIMIT, OF_THE_REQUEST, type HeaderName } from "./headers.ts";

/** A failure by its status. */
export interface Failure {
  status: number;
  /** The end of its name among the document's responses. */
  name: string;
  description: string;
  headers: HeaderName[];
}

/** What a failure has where the request was read. */
const read: HeaderName[] = ["Cache-Control", ...OF_THE_REQUEST, ...OF_THE_LIMIT, ...OF_ANY_ORIGIN];

/** Any path may return any of these. */
export const failures: Failure[] = [
  {
    status: 400,
    name: "BadRequest",
    description:
      "The pair is not registered, or the other way round (`Unknown pair`, before a bad parameter); " +
      "or a parameter is not what it must be; or there is no such block as `block`, `time` or `hash` name; or the path's percent-encoding is broken; or the query " +
      "string has more than 50 parameters; or `X-Min-Block` is no block number; or the request has no `Host`, or two, or another version " +
      "of HTTP.",
    headers: read,
  },
  {
    status: 401,
    name: "UnknownKey",
    description:
      "`Authorization` has `Bearer` and a key that the operator has not given. Without the header, and where the operator has " +
      "no keys, no request gets it.",
    headers: [...read, "WWW-Authenticate"],
  },
  {
    status: 404,
    name: "UnknownPath",
    description: "Nothing is served there, whatever the method.",
    headers: read,
  },
  {
    status: 405,
    name: "MethodNotAllowed",
    description: "The path is served to other methods, which `Allow` names.",
    headers: [...read, "Allow"],
  },
  {
    status: 414,
    name: "UriTooLong",
    description: "The path is longer than 1024 characters, or the query string than 2048.",
    headers: read,
  },
  {
    status: 417,
    name: "ExpectationFailed",
    description: "`Expect` has something else than `100-continue`. The connection is closed.",
    headers: read,
  },
  {
    status: 429,
    name: "TooManyRequests",
    description:
      "The client has asked more often than it may in a minute, or has as many streams open as it may.",
    headers: [...read, "Retry-After"],
  },
  {
    status: 500,
    name: "InternalError",
    description: "A fault of the service's own, which its log has under the request's id.",
    headers: read,
  },
  {
    status: 501,
    name: "NotImplemented",
    description: "`Transfer-Encoding` has something else than `chunked`. The connection is closed.",
    headers: read,
  },
  {
    status: 503,
    name: "Unavailable",
    description:
      "The database cannot be reached, is not ready to be served, is locked, has taken too long, or " +
      "has no connection free, or does not have the block of `X-Min-Block` yet; or all streams are taken.",
    headers: [...read, "Retry-After", "X-Head-Block"],
  },
];
