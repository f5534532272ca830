// Reads the body of a GraphQL request, as far as it may be long.
import { raw, type RequestHandler } from "express";
import { BodyTooLarge } from "../../http/errors.ts";

/** What body-parser says of a body that is too long, and of one that did not come as announced. */
const TOO_LARGE = "entity.too.large";
const BROKEN_OFF = new Set(["request.aborted", "request.size.invalid"]);

/**
 * A middleware that gives the body as bytes in `req.body`; one that is longer than this fails with
 * BodyTooLarge, as soon as that is known.
 */
export function readBodyUpTo(bytes: number): RequestHandler {
  const read: RequestHandler = raw({ type: () => true, limit: bytes, inflate: false });
  return (req, res, next) => {
    if (Number(req.headers["content-length"]) > bytes) {
      next(new BodyTooLarge(bytes));
      return;
    }
    // A layer in front has read it, perhaps before the request says that it has ended.
    if (req.body !== undefined) {
      next();
      return;
    }
    read(req, res, (error?: unknown) => {
      const { type } = (error ?? {}) as { type?: string };
      if (type === TOO_LARGE) next(new BodyTooLarge(bytes));
      // The client has gone away: nobody hears an answer.
      else if (type !== undefined && BROKEN_OFF.has(type)) res.destroy();
      else next(error);
    });
  };
}
