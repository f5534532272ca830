// Serves a path by GET, HEAD and OPTIONS; other methods throw MethodNotAllowed.
import type { RequestHandler, Router } from "express";
import { readFromAnyOrigin } from "./cross-origin.ts";
import { MethodNotAllowed } from "./errors.ts";
import { noteRoute } from "./observe/observation.ts";
import { setStandingHeaders } from "./standing-headers.ts";

const ALLOWED = "GET, HEAD, OPTIONS";

export function readOnlyRoute(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .all(noteRoute(path))
    .get(handler)
    .options(setStandingHeaders, readFromAnyOrigin, (_req, res) => {
      res.set("Allow", ALLOWED).status(204).end();
    })
    .all(({ method }) => {
      throw new MethodNotAllowed(method, ALLOWED);
    });
}
