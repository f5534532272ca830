// Every error that a client may be told of, declared once: its status, its message, its headers.

/** An error whose message is meant for the client. Any other is the service's own fault. */
export abstract class ClientFacingError extends Error {
  /** The HTTP status it is answered with. */
  abstract readonly status: number;
  /** The headers its answer carries beside the usual ones. */
  readonly headers: Record<string, string> = {};
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

/** What came is not what Node's parser takes for HTTP/1.1. */
export class NotHttp extends ClientFacingError {
  override readonly name = "NotHttp";
  readonly status = 400;
  override readonly headers = CLOSING;

  constructor() {
    super("The request is not HTTP/1.1");
  }
}

/** HTTP/1.1 wants a Host header. */
export class NoHost extends ClientFacingError {
  override readonly name = "NoHost";
  readonly status = 400;
  override readonly headers = CLOSING;

  constructor() {
    super("The request has no Host header");
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

/** The request, or its headers, took longer to arrive than they may. */
export class RequestTooSlow extends ClientFacingError {
  override readonly name = "RequestTooSlow";
  readonly status = 408;
  override readonly headers = CLOSING;

  constructor(headersMs: number, wholeMs: number) {
    super(
      `The request did not arrive in time: ${headersMs} ms for its headers, ` +
        `${wholeMs} ms for all of it`,
    );
  }
}

/** The request's headers, all together, are longer than they may be. */
export class HeadersTooLong extends ClientFacingError {
  override readonly name = "HeadersTooLong";
  readonly status = 431;
  override readonly headers = CLOSING;

  constructor(maxBytes: number) {
    super(`The request's headers exceed ${maxBytes} bytes`);
  }
}

/** A body in chunks says more of one than Node's parser listens to. */
export class ChunkExtensionsTooLong extends ClientFacingError {
  override readonly name = "ChunkExtensionsTooLong";
  readonly status = 413;
  override readonly headers = CLOSING;

  constructor() {
    super("The extensions of a chunk of the body are too long");
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

/** The client has as many GraphQL operations in flight as it may. */
export class TooManyAtOnce extends ClientFacingError {
  override readonly name = "TooManyAtOnce";
  readonly status = 429;
  override readonly headers = { "Retry-After": "1" };

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

  constructor() {
    super("The database took too long to answer this");
  }
}

/** Somebody holds a lock on what is asked for, as a migration does, for longer than is waited. */
export class DataLocked extends Unavailable {
  override readonly name = "DataLocked";

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
