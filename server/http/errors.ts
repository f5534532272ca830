// Every error that a client may get: its status, message, headers and code.

const CODES = new Map([
  [400, "BAD_REQUEST"],
  [405, "METHOD_NOT_ALLOWED"],
  [413, "BODY_TOO_LARGE"],
  [414, "URL_TOO_LONG"],
  [415, "UNSUPPORTED_MEDIA_TYPE"],
  [417, "EXPECTATION_FAILED"],
  [429, "RATE_LIMITED"],
  [501, "NOT_IMPLEMENTED"],
  [503, "UNAVAILABLE"],
]);

/** An error whose message is meant for the client. Any other is the service's own fault. */
export abstract class ClientFacingError extends Error {
  /** The HTTP status it is answered with. */
  abstract readonly status: number;
  /** The headers its answer carries beside the usual ones. */
  readonly headers: Record<string, string> = {};

  /** By which GraphQL's clients, and the metrics, know it. */
  get code(): string {
    return CODES.get(this.status) ?? "INTERNAL_SERVER_ERROR";
  }

  /** What GraphQL adds to the message. */
  get extensions(): { code: string; retryAfter?: number } {
    const seconds = this.headers["Retry-After"];
    return { code: this.code, ...(seconds !== undefined && { retryAfter: Number(seconds) }) };
  }
}

/** Where a request was not read to its end, the next one would not be found. */
const CLOSING = { Connection: "close" };

/** The pair in the path is not registered, at least not in this direction. */
export class UnknownPair extends ClientFacingError {
  override readonly name = "UnknownPair";
  readonly status = 400;

  constructor() {
    super("Unknown pair");
  }
}

/** A query parameter that is not what it must be. */
export class BadParameter extends ClientFacingError {
  override readonly name = "BadParameter";
  readonly status = 400;

  constructor(parameter: string, accepted: string) {
    super(`${parameter} must be ${accepted}`);
  }
}

/** A path whose percent-encoding is not one of UTF-8 text. */
export class BrokenPath extends ClientFacingError {
  override readonly name = "BrokenPath";
  readonly status = 400;

  constructor() {
    super("The path's percent-encoding is broken");
  }
}

/** Nothing is served under this path, whatever the method. */
export class UnknownPath extends ClientFacingError {
  override readonly name = "UnknownPath";
  readonly status = 404;

  constructor() {
    super("Unknown path");
  }
}

/** The path is served, but not to this method. */
export class MethodNotAllowed extends ClientFacingError {
  override readonly name = "MethodNotAllowed";
  readonly status = 405;
  override readonly headers: Record<string, string>;

  constructor(method: string, allowed: string) {
    super(`${method} is not allowed here, only ${allowed}`);
    this.headers = { Allow: allowed };
  }
}

/** A part of the URL is longer than it may be. */
export class UrlTooLong extends ClientFacingError {
  override readonly name = "UrlTooLong";
  readonly status = 414;

  constructor(part: "path" | "query string", max: number) {
    super(`The ${part} must be at most ${max} characters long`);
  }
}

/** The query string has more parameters than it may. */
export class TooManyParameters extends ClientFacingError {
  override readonly name = "TooManyParameters";
  readonly status = 400;

  constructor(max: number) {
    super(`The query string must have at most ${max} parameters`);
  }
}

/** HTTP/1.1 wants one Host header. */
export class NotOneHost extends ClientFacingError {
  override readonly name = "NotOneHost";
  readonly status = 400;
  override readonly headers = CLOSING;

  constructor(count: number) {
    super(count === 0 ? "The request has no Host header" : "The request has two Host headers");
  }
}

/** The body is in a transfer coding that the server cannot undo. */
export class UnknownTransferCoding extends ClientFacingError {
  override readonly name = "UnknownTransferCoding";
  readonly status = 501;
  override readonly headers = CLOSING;

  constructor() {
    super("Nothing but chunked is accepted in Transfer-Encoding");
  }
}

/** The client expects what the server does not do. */
export class UnmetExpectation extends ClientFacingError {
  override readonly name = "UnmetExpectation";
  readonly status = 417;
  override readonly headers = CLOSING;

  constructor() {
    super("Nothing but 100-continue is accepted in Expect");
  }
}

/** The client has asked more often than it may; it is told when it may again. */
export class TooManyRequests extends ClientFacingError {
  override readonly name = "TooManyRequests";
  readonly status = 429;
  override readonly headers: Record<string, string>;

  constructor(perMinute: number, seconds: number) {
    super(`At most ${perMinute} requests a minute are accepted: ask again in ${seconds} s`);
    this.headers = { "Retry-After": String(seconds) };
  }
}

/** A GraphQL request's body is not plain JSON. */
export class UnsupportedMediaType extends ClientFacingError {
  override readonly name = "UnsupportedMediaType";
  readonly status = 415;
  override readonly headers: Record<string, string>;

  constructor(message: string, accepted: Record<string, string>) {
    super(message);
    this.headers = accepted;
  }
}

/** The client has as many GraphQL operations in flight as it may. */
export class TooManyAtOnce extends ClientFacingError {
  override readonly name = "TooManyAtOnce";
  readonly status = 429;
  override readonly headers = { "Retry-After": "1" };

  override get code(): string {
    return "TOO_MANY_AT_ONCE";
  }

  constructor(max: number) {
    super(`At most ${max} operations of a client run at once: wait for an answer, then ask again`);
  }
}

/** A GraphQL request's body is longer than it may be. */
export class BodyTooLarge extends ClientFacingError {
  override readonly name = "BodyTooLarge";
  readonly status = 413;

  constructor(bytes: number) {
    super(`The body must be at most ${bytes} bytes long`);
  }
}

/** The answer cannot be given just now; the client is told after how many seconds to ask again. */
abstract class Unavailable extends ClientFacingError {
  readonly status = 503;
  override readonly headers: Record<string, string>;

  // A restart of PostgreSQL takes a few seconds, and so does a migration.
  constructor(message: string, seconds = 5) {
    super(message);
    this.headers = { "Retry-After": String(seconds) };
  }
}

/** The database cannot be reached just now. */
export class DatabaseUnreachable extends Unavailable {
  override readonly name = "DatabaseUnreachable";

  constructor() {
    super("The database cannot be reached");
  }
}

/** Every connection to the database is in use, and has been for longer than a request may wait. */
export class ServiceBusy extends Unavailable {
  override readonly name = "ServiceBusy";

  constructor() {
    // What takes the connections is over in a moment, as a rule.
    super("The service is busy: ask again in a moment", 1);
  }
}

/** PostgreSQL has broken a statement off, which took longer than it may. */
export class TookTooLong extends Unavailable {
  override readonly name = "TookTooLong";

  override get code(): string {
    return "TIMEOUT";
  }

  constructor() {
    super("The database took too long to answer this");
  }
}

/** Somebody holds a lock on what is asked for, as a migration does, for longer than is waited. */
export class DataLocked extends Unavailable {
  override readonly name = "DataLocked";

  override get code(): string {
    return "LOCKED";
  }

  constructor() {
    super("The data are locked at the moment");
  }
}

/** The database's schema is not the one that the service reads. */
export class DatabaseNotReady extends Unavailable {
  override readonly name = "DatabaseNotReady";

  constructor() {
    super("The database is not ready to be served");
  }
}

/** A fault of the service's own. What went wrong is for its log alone. */
export class InternalError extends ClientFacingError {
  override readonly name = "InternalError";
  readonly status = 500;

  constructor() {
    super("Internal error");
  }
}
