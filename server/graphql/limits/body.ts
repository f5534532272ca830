// Reads the body of a GraphQL request, up to the size limit, and checks its shape.
import { raw, type RequestHandler } from "express";
import { z } from "zod";
import { BadBody, BodyTooLarge } from "../../http/errors.ts";
import { NUL_MESSAGE } from "../schema/validation-rules.ts";

/** The types of body-parser's errors. */
const TOO_LARGE = "entity.too.large";
const BROKEN_OFF = new Set(["request.aborted", "request.size.invalid"]);

/** A middleware that sets `req.body` to the bytes of the body; a longer body fails with BodyTooLarge. */
export function readBodyUpTo(bytes: number): RequestHandler {
  const read: RequestHandler = raw({ type: () => true, limit: bytes, inflate: false });
  return (req, res, next) => {
    if (Number(req.headers["content-length"]) > bytes) {
      next(new BodyTooLarge(bytes));
      return;
    }
    // The cache in front may have read it.
    if (req.body !== undefined) {
      next();
      return;
    }
    read(req, res, (error?: unknown) => {
      const { type } = (error ?? {}) as { type?: string };
      // Without a body 'end' never fires, and grafserv would hang; it does not read a `body` that is set.
      req.body ??= Buffer.alloc(0);
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

/** grafserv checks a body too, but its errors have no code. */
export function parseBody(bytes: Buffer): object {
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString());
  } catch {
    throw new BadBody("The body must be JSON");
  }
  const { success, data, error } = BODY.safeParse(body);
  if (!success) {
    const [issue] = error.issues;
    throw new BadBody(`${["body", ...(issue?.path ?? [])].join(".")}: ${issue?.message}`);
  }
  if (holdsNul(data.variables)) throw new BadBody(NUL_MESSAGE, "BAD_USER_INPUT");
  return data;
}

/** Not recursive, because a body may nest deeper than the stack. */
function holdsNul(value: unknown): boolean {
  const rest = [value];
  for (const one of rest) {
    if (typeof one === "string" && one.includes("\0")) return true;
    if (typeof one !== "object" || one === null) continue;
    for (const member of Object.values(one)) rest.push(member);
  }
  return false;
}
