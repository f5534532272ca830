// The headers of every answer, whatever was asked.
import type { RequestHandler } from "express";
import { EXPOSED_HEADERS } from "./cross-origin.ts";

/** Names and values in turn: Node writes a whole list faster than headers that are set one by one. */
export const STANDING_HEADERS: readonly string[] = standingHeadersWith(
  // Opened as a page, an answer loads nothing, and no page shows it in a frame.
  "default-src 'none';frame-ancestors 'none'",
);

/** The same with another content security policy, for a page. */
export function standingHeadersWith(policy: string): string[] {
  return [
    ...["Content-Security-Policy", policy],
    // Any page may read what is published.
    ...["Cross-Origin-Resource-Policy", "cross-origin"],
    ...["Referrer-Policy", "no-referrer"],
    ...["X-Content-Type-Options", "nosniff"],
    ...["Access-Control-Allow-Origin", "*"],
    ...["Access-Control-Expose-Headers", EXPOSED_HEADERS],
  ];
}

/** An Express middleware that sets them. */
export const setStandingHeaders: RequestHandler = (_req, res, next) => {
  for (let n = 0; n < STANDING_HEADERS.length; n += 2) {
    res.setHeader(STANDING_HEADERS[n] ?? "", STANDING_HEADERS[n + 1] ?? "");
  }
  next();
};
