// A path that can only be read.
import type { Request, RequestHandler, Response, Router } from "express";
import { readFromAnyOrigin } from "./cross-origin.ts";
import { MethodNotAllowed } from "./errors.ts";
import { noteRoute } from "./observe/observation.ts";
import { setStandingHeaders } from "./standing-headers.ts";

const ALLOWED = "GET, HEAD, OPTIONS";

/**
 * Serves a path by GET, and so by HEAD. OPTIONS is told which methods there are; any other throws
 * MethodNotAllowed.
 */
export function readOnlyRoute(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .all(noteRoute(path))
    .get(handler)
    .options(setStandingHeaders, readFromAnyOrigin, tellMethods)
    .all(refuseMethod);
}

function tellMethods(_req: Request, res: Response): void {
  res.set("Allow", ALLOWED).status(204).end();
}

function refuseMethod(req: Request): never {
  throw new MethodNotAllowed(req.method, ALLOWED);
}
