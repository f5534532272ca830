// Sends a refusal with its headers, in one piece.
import type { OutgoingHttpHeader, ServerResponse } from "node:http";
import type { ClientFacingError } from "./errors.ts";
import { STANDING_HEADERS } from "./standing-headers.ts";

/** What every refusal carries: whatever all answers do, and that it is not to be kept. */
const HEADERS = [
  ...STANDING_HEADERS,
  ...["Content-Type", "application/json; charset=utf-8"],
  ...["Cache-Control", "no-store"],
];

/** Answers with an error's status and headers, and this body; `more` are names and values in turn. */
export function sendRefusal(
  res: ServerResponse,
  { status, headers }: ClientFacingError,
  body: object,
  more: readonly OutgoingHttpHeader[] = [],
): void {
  const text = JSON.stringify(body);
  const own = [...Object.entries(headers).flat(), "Content-Length", Buffer.byteLength(text)];
  res.writeHead(status, [...HEADERS, ...own, ...more]).end(text);
}
