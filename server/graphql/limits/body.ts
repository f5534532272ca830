// Reads the body of a GraphQL request, up to the size limit.
import { raw, type RequestHandler } from "express";
import { BodyTooLarge } from "../../http/errors.ts";

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
