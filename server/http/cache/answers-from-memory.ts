// Stands in front of the service, and answers from memory what it has answered before, while the
// data stand as they were.
import fresh from "fresh";
import type { EventEmitter } from "node:events";
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeader,
  RequestListener,
  ServerResponse,
} from "node:http";
import { performance } from "node:perf_hooks";
import type { Database } from "../../../db/connect.ts";
import { AnswerStore, type Answer } from "./answer-store.ts";
import { captureAnswer, type Captured, type Service } from "./captured-response.ts";
import { andFrontHeaders, withFrontHeaders } from "../front-headers.ts";
import { observationOf } from "../observe/observation.ts";
import { VersionWatch, type DataVersion } from "./data-version.ts";
import {
  isShortJson,
  onlyReads,
  parseGraphqlBody,
  readBody,
  type ReadRequest,
} from "./graphql-request.ts";
import { KnownKeys } from "./known-keys.ts";

export interface CacheOptions {
  /** How much memory the answers may take, in bytes. */
  bytes: number;
  /**
   * For how long the data are taken to stand after their version was asked for, in milliseconds: no
   * answer is older. 0 asks for every request.
   */
  checkMs: number;
  /** Asked for the version, if not the service's pool. It must lead to the same server. */
  versionFrom?: Database;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

export interface FrontOptions extends CacheOptions {
  /** What answers are kept in, of this front alone: made by `storeOf`. */
  kept: AnswerStore;
  /** Emits when GraphQL has another schema. */
  schema: EventEmitter<{ changed: [] }>;
  versionFrom: Database;
  /** How long the body of a GraphQL request may be. */
  bodyBytes: number;
  log: (error: unknown) => void;
}

/** Figures that depend on the clock are as old as this at most. */
const CLOCK_MS = 1000;

// What is left out of 304, besides what Node itself adds to each answer.
const OF_THE_BODY = new Set(["content-type", "content-encoding", "content-length"]);

/** An answer that is being made, for all who ask for it meanwhile. */
interface Coming {
  captured: Promise<Captured>;
  until: number;
}

/** The keys of GraphQL requests that came before take this share of the memory at most. */
const KEYS_SHARE = 1 / 16;

/** Makes what answers are kept in. */
export const storeOf = ({ bytes }: CacheOptions): AnswerStore =>
  new AnswerStore(bytes * (1 - KEYS_SHARE));

/** Of a GraphQL request's key and a REST path only the former starts so. */
const GRAPHQL_KEY = "POST\n";

/**
 * A listener for the http server, which hands on to `service` whatever it does not know the answer
 * of: GET and HEAD below /v1 and /v2, and GraphQL queries, are handed on once for all who ask the
 * same at once.
 *
 * An answer is made after its version of the data was read, so it is never older than that, and is
 * given only while the version stands. All are forgotten together when the data or the schema change: a
 * write anywhere may change any of them.
 */
export function answerFromMemory(service: Service, options: FrontOptions): RequestListener {
  const { kept, versionFrom, bodyBytes, checkMs, log, now = () => performance.now() } = options;
  const versions = new VersionWatch({ db: versionFrom, checkMs, log, now });
  const keys = new KnownKeys(options.bytes * KEYS_SHARE);
  const handOn = withFrontHeaders(service);
  let coming = new Map<string, Coming>();
  /** The version of everything in `kept` and `coming`. */
  let text = "";
  options.schema.on("changed", forgetAll);

  return (req, res) => {
    const { method, url = "" } = req;
    if (method === "GET" || method === "HEAD") {
      if (!url.startsWith("/v1/") && !url.startsWith("/v2/")) {
        handOn(req, res);
        return;
      }
      answer(url + inEncoding(req), req, res);
      return;
    }
    if (method === "POST" && url === "/graphql" && isShortJson(req, bodyBytes)) {
      readBody(req, (body) => answerGraphql(body, req, res));
      return;
    }
    handOn(req, res);
  };

  /** What is being made for those who have asked goes on, and is not kept. */
  function forgetAll(): void {
    kept.clear();
    coming = new Map();
  }

  function answerGraphql(body: Buffer, req: ReadRequest, res: ServerResponse): void {
    req.body = body;
    const { accept, "accept-encoding": encoding } = req.headers;
    const written = { body, accept, encoding };
    // To find the key anew, a body is parsed and put in order, which costs more than all the rest.
    const known = keys.get(written);
    if (known !== undefined) {
      answer(known, req, res);
      return;
    }
    const request = parseGraphqlBody(body);
    if (request === undefined || !onlyReads(request.query)) {
      handOn(req, res);
      return;
    }
    const key = `${GRAPHQL_KEY}${accept ?? ""}${inEncoding(req)}\n${request.key}`;
    keys.keep(written, key);
    answer(key, req, res);
  }

  function answer(key: string, req: IncomingMessage, res: ServerResponse): void {
    const version = versions.known();
    if (version !== undefined) answerAt(version, key, req, res);
    else void versions.ask().then((asked) => answerAt(asked, key, req, res));
  }

  function answerAt(
    version: DataVersion | undefined,
    key: string,
    req: IncomingMessage,
    res: ServerResponse,
  ): void {
    // Without the version nothing is known of what is kept. The service says what is wrong.
    if (version === undefined) {
      handOn(req, res);
      return;
    }
    if (version.text !== text) {
      text = version.text;
      forgetAll();
    }
    const known = kept.get(key);
    if (known !== undefined && (known.until === Infinity || now() < known.until)) {
      noteAnswer(req, "hit", known.answer);
      send(known.answer, req.headers, req, res);
      return;
    }
    answerTogether(version, key, req, res);
  }

  function answerTogether(
    version: DataVersion,
    key: string,
    req: IncomingMessage,
    res: ServerResponse,
  ): void {
    const { headers } = req;
    const others = coming.get(key);
    if (others !== undefined && now() < others.until) {
      others.captured.then(
        ({ answer }) => {
          noteAnswer(req, "shared", answer);
          send(answer, headers, req, res);
        },
        () => handOn(req, res),
      );
      return;
    }
    makeAnswer(version, key, req).then(
      (captured) => send(captured.answer, headers, req, res),
      // The service has begun an answer and broken it off; so is the client's connection.
      () => res.destroy(),
    );
  }

  function makeAnswer(version: DataVersion, key: string, req: IncomingMessage): Promise<Captured> {
    const observation = observationOf(req);
    if (observation !== undefined) observation.cache = "miss";
    const captured = captureAnswer(service, req);
    const ofItsVersion = coming;
    const made = { captured, until: version.hasHead ? Infinity : now() + CLOCK_MS };
    ofItsVersion.set(key, made);
    const forget = (): void => {
      if (ofItsVersion.get(key) === made) ofItsVersion.delete(key);
    };
    captured.then(({ answer, isWhole }) => {
      forget();
      const stands = ofItsVersion === coming;
      const isGood = answer.status === 200 && (isWhole || !key.startsWith(GRAPHQL_KEY));
      if (stands && isGood) kept.keep(key, { answer, until: made.until });
    }, forget);
    return captured;
  }
}

// As the client wrote it: there are few ways that clients write it, and only the service knows which
// of them get the same form. Nothing of what it stands after has an end of line.
function inEncoding({ headers }: IncomingMessage): string {
  const encoding = headers["accept-encoding"];
  return encoding === undefined ? "" : `\n${encoding}`;
}

/** Has it known where the answer to this request came from, and what was asked. */
function noteAnswer(req: IncomingMessage, cache: "hit" | "shared", { madeFor }: Answer): void {
  const observation = observationOf(req);
  if (observation === undefined) return;
  observation.cache = cache;
  observation.route = madeFor?.route;
  observation.operation = madeFor?.operation;
  observation.errors = madeFor?.errors;
  if (cache === "shared") observation.answeredAs = madeFor?.id;
}

/** Sends an answer; 304 to a client that has it. HEAD's body is left out by Node. */
function send(
  answer: Answer,
  asked: IncomingHttpHeaders,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const { status, headers, body, etag } = answer;
  const isConditional = asked["if-none-match"] !== undefined && etag !== undefined;
  if (isConditional && status === 200 && fresh(asked, { etag })) {
    res.writeHead(304, andFrontHeaders(withoutBody(headers), req)).end();
    return;
  }
  res.writeHead(status, andFrontHeaders(headers, req)).end(body, "latin1");
}

function withoutBody(headers: OutgoingHttpHeader[]): OutgoingHttpHeader[] {
  return headers.filter((_, n) => !OF_THE_BODY.has(String(headers[n - (n % 2)]).toLowerCase()));
}
