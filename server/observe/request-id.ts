// The id of a request, by which a client, its proxy and the log speak of the same one.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** What an id that a client gives must be: UUIDs, ULIDs and the ids of traces are. */
const WELL_FORMED = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The id that the client has given, if it is well formed; else one that nobody has had before. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && WELL_FORMED.test(given) ? given : randomUUID();
}
