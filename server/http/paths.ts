// Refuses broken and unknown paths.
import type { NextFunction, Request, Response } from "express";
import { BrokenPath, UnknownPath } from "./errors.ts";

/** Express's routes would answer a path that does not decode themselves. */
export function refuseBrokenPath(req: Request, _res: Response, next: NextFunction): void {
  try {
    decodeURIComponent(req.path);
  } catch {
    throw new BrokenPath();
  }
  next();
}

/** Stands after all routes. */
export function refuseUnknownPath(): never {
  throw new UnknownPath();
}
