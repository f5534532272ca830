// The errors that a client may get: status, message, headers and code of each.
import { NoBlockYet, type Absent } from "../market/absent.ts";

const CODES = new Map([
  [400, "BAD_REQUEST"],
  [401, "UNKNOWN_KEY"],
  [405, "METHOD_NOT_ALLOWED"],
  [413, "BODY_TOO_LARGE"],
  [414, "URL_TOO_LONG"],
  [415, "UNSUPPORTED_MEDIA_TYPE"],
  [417, "EXPECTATION_FAILED"],
  [429, "RATE_LIMITED"],
  [501, "NOT_IMPLEMENTED"],
  [503, "UNAVAILABLE"],
]);

/** An error whose message is meant for the client. Any other error is the service's own fault. */
export abstract class ClientFacingError extends Error {
  override readonly name = this.constructor.name;
  readonly status: number;
  /** Headers of its answer beside those of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** `extensions.code` of GraphQL and the label of the metrics. */
  readonly code: string;

  constructor(
    status: number,
    message: string,
    headers: Record<string, string> = {},
    code = CODES.get(status) ?? "INTERNAL_SERVER_ERROR",
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.code = code;
  }

  /** Of an error in GraphQL. */
  get extensions(): { code: string; retryAfter?: number } {
    const seconds = this.headers["Retry-After"];
    return { code: this.code, ...(seconds !== undefined && { retryAfter: Number(seconds) }) };
  }
}

/** Without the end of a request the beginning of the next cannot be found. */
const CLOSING = { Connection: "close" };

const retryAfter = (seconds: number) => ({ "Retry-After": String(seconds) });

// A restart of PostgreSQL takes a few seconds, and so does a migration.
const RETRY_SOON = retryAfter(5);

/** The data do not have what the request asks for. */
export class AbsentData extends ClientFacingError {
  constructor(absent: Absent) {
    const isEarly = absent instanceof NoBlockYet;
    super(isEarly ? 503 : 400, absent.message, isEarly ? RETRY_SOON : {});
  }
}

export class BadParameter extends ClientFacingError {
  constructor(parameter: string, accepted: string) {
    super(400, `${parameter} must be ${accepted}`);
  }
}

/** The refusal of a block that is asked for of what has no history. */
export const noHistory = (asOf: object): BadParameter =>
  new BadParameter(Object.keys(asOf).join(), "left out: this has no history");

export class BadHeader extends ClientFacingError {
  constructor(name: string, accepted: string) {
    super(400, `${name} must be ${accepted}`);
  }
}

export class TooManyParameters extends ClientFacingError {
  constructor(max: number) {
    super(400, `The query string must have at most ${max} parameters`);
  }
}

/** The path does not decode to UTF-8 text. */
export class BrokenPath extends ClientFacingError {
  constructor() {
    super(400, "The path's percent-encoding is broken");
  }
}

/** HTTP/1.1 does not allow the request. */
export class MalformedRequest extends ClientFacingError {
  constructor(message: string, headers: Readonly<Record<string, string>> = {}) {
    super(400, message, { ...CLOSING, ...headers });
  }
}

/** The body of a GraphQL request is not JSON of the right shape, or has text that no row can hold. */
export class BadBody extends ClientFacingError {
  constructor(message: string, code?: string) {
    super(400, message, {}, code);
  }
}

/** The path is served to no method. */
export class UnknownPath extends ClientFacingError {
  constructor() {
    super(404, "Unknown path");
  }
}

/** The manifest of the files does not list it. */
export class NoSuchFile extends ClientFacingError {
  constructor(why: string) {
    super(404, `No such file: ${why}`);
  }
}

/** A range of a file that begins behind its end. */
export class RangeBehindEnd extends ClientFacingError {
  constructor(bytes: number) {
    super(416, `The file has ${bytes} bytes, and Range begins behind them`, {
      "Content-Range": `bytes */${bytes}`,
    });
  }
}

export class MethodNotAllowed extends ClientFacingError {
  constructor(method: string, allowed: string) {
    super(405, `${method} is not allowed here, only ${allowed}`, { Allow: allowed });
  }
}

export class BodyTooLarge extends ClientFacingError {
  constructor(bytes: number) {
    super(413, `The body must be at most ${bytes} bytes long`);
  }
}

export class UrlTooLong extends ClientFacingError {
  constructor(part: "path" | "query string", max: number) {
    super(414, `The ${part} must be at most ${max} characters long`);
  }
}

/** The body of a GraphQL request is not plain JSON. */
export class UnsupportedMediaType extends ClientFacingError {
  constructor(message: string, accepted: Record<string, string>) {
    super(415, message, accepted);
  }
}

export class UnmetExpectation extends ClientFacingError {
  constructor() {
    super(417, "Nothing but 100-continue is accepted in Expect", CLOSING);
  }
}

/** The client gives a key that the operator's file does not have. */
export class UnknownKey extends ClientFacingError {
  constructor() {
    super(401, "The key of Authorization is unknown: give Bearer and a key, or no Authorization", {
      "WWW-Authenticate": "Bearer",
    });
  }
}

/** The client is over its rate limit. */
export class TooManyRequests extends ClientFacingError {
  constructor(perMinute: number, seconds: number) {
    const message = `At most ${perMinute} requests a minute are accepted: ask again in ${seconds} s`;
    super(429, message, retryAfter(seconds));
  }
}

/** The client has its maximum of requests in flight. */
export class TooManyRequestsAtOnce extends ClientFacingError {
  constructor(max: number) {
    const message = `At most ${max} requests of a client are answered at once: wait for an answer, then ask again`;
    super(429, message, retryAfter(1), "TOO_MANY_AT_ONCE");
  }
}

/** The bodies of the client's requests in flight are too long together. */
export class BodiesHeld extends ClientFacingError {
  constructor(bytes: number) {
    const message = `The bodies of a client's requests in flight have at most ${bytes} bytes: wait for an answer, then ask again`;
    super(429, message, { ...retryAfter(1), ...CLOSING }, "TOO_MANY_AT_ONCE");
  }
}

/** The client has not read its answers. */
export class AnswersUnread extends ClientFacingError {
  constructor(bytes: number) {
    const message = `More than ${bytes} bytes of a client's answers wait to be read: read them, then ask again`;
    super(429, message, retryAfter(1), "TOO_MANY_AT_ONCE");
  }
}

/** The client has its maximum of GraphQL operations in flight. */
export class TooManyAtOnce extends ClientFacingError {
  constructor(max: number) {
    const message = `At most ${max} operations of a client run at once: wait for an answer, then ask again`;
    super(429, message, retryAfter(1), "TOO_MANY_AT_ONCE");
  }
}

/** The client or its connection has its maximum of streams. */
export class TooManyStreams extends ClientFacingError {
  constructor(max: number, of: "client" | "connection" = "client") {
    const message =
      of === "client"
        ? `At most ${max} streams of a client are open at once: follow more topics by one stream`
        : `At most ${max} subscriptions of a connection are open at once: open another connection`;
    super(429, message, retryAfter(5), "TOO_MANY_AT_ONCE");
  }
}

/** The service has its maximum of streams. */
export class StreamsFull extends ClientFacingError {
  constructor() {
    super(503, "The service has no stream free: ask again in a moment", RETRY_SOON);
  }
}

/** A fault of the service. Its cause is for the log alone. */
export class InternalError extends ClientFacingError {
  constructor() {
    super(500, "Internal error");
  }
}

export class UnknownTransferCoding extends ClientFacingError {
  constructor() {
    super(501, "Nothing but chunked is accepted in Transfer-Encoding", CLOSING);
  }
}

export class DatabaseUnreachable extends ClientFacingError {
  constructor() {
    super(503, "The database cannot be reached", RETRY_SOON);
  }
}

/** The primary may have been replaced by another one. */
export class DatabaseReplaced extends ClientFacingError {
  constructor() {
    super(503, "The database may have been replaced by another: ask again in a moment", RETRY_SOON);
  }
}

/** The database lacks a migration, a view or a grant. */
export class DatabaseNotReady extends ClientFacingError {
  constructor() {
    super(503, "The database is not ready to be served", RETRY_SOON);
  }
}

/** The figures are not of the last block. The message, the database's own, says of which they are. */
export class FiguresOutdated extends ClientFacingError {
  constructor(message: string) {
    super(503, message, RETRY_SOON);
  }
}

/** The database does not have the block that X-Min-Block asks for. */
export class HeadBehind extends ClientFacingError {
  constructor(block: number | null, min: number) {
    const has = block === null ? "no block" : `block ${block}`;
    const known = block === null ? {} : { "X-Head-Block": String(block) };
    super(503, `The service has ${has}, and X-Min-Block asks for ${min}: ask again in a moment`, {
      ...retryAfter(1),
      ...known,
    });
  }
}

/** No connection to the database became free in time. */
export class ServiceBusy extends ClientFacingError {
  constructor() {
    super(503, "The service is busy: ask again in a moment", retryAfter(1));
  }
}

/** PostgreSQL has cancelled a statement at its timeout. */
export class TookTooLong extends ClientFacingError {
  constructor() {
    super(503, "The database took too long to answer this", RETRY_SOON, "TIMEOUT");
  }
}

/** A statement has waited for a lock until its timeout, as during a migration. */
export class DataLocked extends ClientFacingError {
  constructor() {
    super(503, "The data are locked at the moment", RETRY_SOON, "LOCKED");
  }
}
