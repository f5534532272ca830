// What is refused because of its path alone.
import type { NextFunction, Request, Response } from "express";
import { BrokenPath, UnknownPath } from "./errors.ts";

/** Refuses a path that does not decode to text, before any route tries to. */
export function refuseBrokenPath(req: Request, _res: Response, next: NextFunction): void {
  try {
    decodeURIComponent(req.path);
  } catch {
    throw new BrokenPath();
  }
  next();
}

/** Stands after all routes: what comes here is served by none of them. */
export function refuseUnknownPath(): never {
  throw new UnknownPath();
}
