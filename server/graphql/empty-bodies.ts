// Sets an empty body on requests without a body.
import type { NextFunction, Request, Response } from "express";

/** Without a body 'end' never fires, and grafserv would hang; grafserv does not read a `body` that is set. */
export function readEmptyBody(req: Request, _res: Response, next: NextFunction): void {
  if (req.readableEnded) req.body ??= Buffer.alloc(0);
  next();
}
