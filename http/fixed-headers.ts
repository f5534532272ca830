// The headers that every answer has.
import type { RequestHandler } from "express";
import { EXPOSED_HEADERS } from "./cross-origin.ts";

const FIXED = {
  // An answer opened as a page loads nothing, and no page shows it in a frame.
  "Content-Security-Policy": "default-src 'none';frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": EXPOSED_HEADERS,
};

/** With the content security policy of a page. */
export const fixedHeadersWith = (policy: string): string[] =>
  Object.entries({ ...FIXED, "Content-Security-Policy": policy }).flat();

/** Alternating names and values: Node writes a list faster than headers set one by one. */
export const FIXED_HEADERS: readonly string[] = Object.entries(FIXED).flat();

export const setFixedHeaders: RequestHandler = (_req, res, next) => {
  res.set(FIXED);
  next();
};
