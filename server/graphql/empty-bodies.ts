// Tells GraphQL of a body that is not there.
import type { NextFunction, Request, Response } from "express";

/**
 * A request that announces no body is over when it comes, and never says that it ends: PostGraphile
 * would wait for that. What it takes as read, it does not read.
 */
export function readEmptyBody(req: Request, _res: Response, next: NextFunction): void {
  if (req.readableEnded) req.body ??= Buffer.alloc(0);
  next();
}
