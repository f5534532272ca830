// Takes the body of a GraphQL request: JSON in UTF-8, posted, up to the size limit, and of the right shape.
import { MIMEType } from "node:util";
import { raw, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import {
  BadBody,
  BodyTooLarge,
  MethodNotAllowed,
  UnsupportedMediaType,
} from "../../http/errors.ts";
import { stateOf } from "../../http/request.ts";
import { parseJson } from "../exact-json.ts";
import { NO_DOCUMENTS, type PersistedDocuments } from "../persisted/documents.ts";
import { NUL_MESSAGE } from "../schema/validation-rules.ts";

/** The types of body-parser's errors. */
const TOO_LARGE = "entity.too.large";
const BROKEN_OFF = new Set(["request.aborted", "request.size.invalid"]);

/** A middleware that reads the body; a longer one fails with BodyTooLarge. */
export function readBodyUpTo(bytes: number): RequestHandler {
  const read: RequestHandler = raw({ type: () => true, limit: bytes, inflate: false });
  return (req, res, next) => {
    if (Number(req.headers["content-length"]) > bytes) {
      next(new BodyTooLarge(bytes));
      return;
    }
    const state = stateOf(req);
    // The cache in front may have read it. grafserv would wait for it, unless there is a `req.body`.
    if (state.body !== undefined) {
      req.body = state.body;
      next();
      return;
    }
    read(req, res, (error?: unknown) => {
      const { type } = (error ?? {}) as { type?: string };
      // Without a body 'end' never fires, and grafserv would hang.
      req.body ??= Buffer.alloc(0);
      state.body = req.body as Buffer;
      if (type === TOO_LARGE) next(new BodyTooLarge(bytes));
      // The client is gone.
      else if (type !== undefined && BROKEN_OFF.has(type)) res.destroy();
      else next(error);
    });
  };
}

const OBJECT = z.record(z.string(), z.unknown()).nullish();
const BODY = z.object({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: OBJECT,
  extensions: OBJECT,
  onError: z.enum(["PROPAGATE", "NULL", "HALT"]).nullish(),
});

/** As JSON has it, which accepts no other form. */
const NUL = "\\u0000";

/** By the identifier of its document. */
const BODY_BY_ID = BODY.omit({ query: true }).extend({ documentId: z.string() });

/** grafserv checks a body too, but its errors have no code. */
export function parseBody(bytes: Buffer, documents?: PersistedDocuments): object {
  const text = bytes.toString();
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    throw new BadBody("The body must be JSON");
  }
  const { success, data, error } = (isById(body) ? BODY_BY_ID : BODY).safeParse(body);
  if (!success) {
    const [issue] = error.issues;
    throw new BadBody(`${["body", ...(issue?.path ?? [])].join(".")}: ${issue?.message}`);
  }
  if (text.includes(NUL) && holdsNul(data.variables))
    throw new BadBody(NUL_MESSAGE, "BAD_USER_INPUT");
  if (documents === undefined && "query" in data) return data;
  return { ...data, query: (documents ?? NO_DOCUMENTS).textOf(data) };
}

function isById(body: unknown): boolean {
  const { query, documentId } = (body ?? {}) as Record<string, unknown>;
  return query === undefined && documentId != null;
}

/** Not recursive, because a body may nest deeper than the stack. */
export function holdsNul(value: unknown): boolean {
  const rest = [value];
  for (const one of rest) {
    if (typeof one === "string" && one.includes("\0")) return true;
    if (typeof one !== "object" || one === null) continue;
    for (const member of Object.values(one)) rest.push(member);
  }
  return false;
}

const JSON_TYPE = "application/json";

/** A common misspelling too, which means nothing else. */
const CHARSETS = new Set(["utf-8", "utf8"]);

/** A middleware that refuses what is no POST of JSON in UTF-8. A web page can send text and forms to any host without a CORS preflight, but not JSON. */
export function onlyJsonPosts(req: Request, _res: Response, next: NextFunction): void {
  if (req.method !== "POST") throw new MethodNotAllowed(req.method, "POST, OPTIONS");
  const type = mediaType(req);
  if (type !== JSON_TYPE) {
    const given = type === "" ? "none was given" : `not ${JSON.stringify(type)}`;
    throw new UnsupportedMediaType(`The Content-Type must be ${JSON_TYPE}, ${given}`, {
      Accept: JSON_TYPE,
    });
  }
  const charset = charsetOf(req);
  if (!CHARSETS.has(charset)) {
    throw new UnsupportedMediaType(
      `The charset of the Content-Type must be utf-8, not ${JSON.stringify(charset)}`,
      { Accept: JSON_TYPE },
    );
  }
  const encoding = req.get("Content-Encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new UnsupportedMediaType("The body must not be compressed", {
      "Accept-Encoding": "identity",
    });
  }
  // PostGraphile compares the media type with its case.
  req.headers["content-type"] = JSON_TYPE;
  next();
}

function mediaType(req: Request): string {
  const [type = ""] = (req.get("Content-Type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}

/** For a JSON type. It is UTF-8 where none is given. */
const charsetOf = (req: Request): string =>
  new MIMEType(req.get("Content-Type") ?? "").params.get("charset")?.toLowerCase() ?? "utf-8";
