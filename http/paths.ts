// Paths: the methods that read them, how a pair in one is described, and those that are unknown.
import type { RequestHandler, Router } from "express";
import { z } from "zod";
import { readFromAnyOrigin } from "./cross-origin.ts";
import { MethodNotAllowed, UnknownPath } from "./errors.ts";
import { noteRoute } from "./request.ts";
import { setFixedHeaders } from "./fixed-headers.ts";

const ALLOWED = "GET, HEAD, OPTIONS";

/** Serves a path by GET, HEAD and OPTIONS; other methods throw MethodNotAllowed. */
export function readOnlyRoute(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .all(noteRoute(path))
    .get(handler)
    .options(setFixedHeaders, readFromAnyOrigin, (_req, res) => {
      res.set("Allow", ALLOWED).status(204).end();
    })
    .all(({ method }) => {
      throw new MethodNotAllowed(method, ALLOWED);
    });
}

// No text in PostgreSQL holds a NUL.
const symbol = z
  .string()
  .min(1)
  .regex(/^[^\0]*$/);

export const pairInPath = {
  base: { description: "The base token's symbol, in any case.", schema: symbol, example: "weth" },
  quote: { description: "The quote token's symbol, in any case.", schema: symbol, example: "dai" },
};

/** Stands after all routes. */
export function refuseUnknownPath(): never {
  throw new UnknownPath();
}
