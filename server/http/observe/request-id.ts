// The id of a request, by which a client, its proxy and the log speak of the same one.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** What an id that a client gives must be: UUIDs, ULIDs and the ids of traces are. */
const WELL_FORMED = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The id that the client has given, if it is well formed; else one that nobody has had before. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && WELL_FORMED.test(given) ? given : newId();
}

const LAST_DIGITS = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));

let begin = "";
let used = LAST_DIGITS.length;

/**
 * A UUID that nobody has had before. 256 of them differ in their last two digits alone: to make each at
 * random would take a twentieth of the time of an answer from memory.
 */
function newId(): string {
  if (used === LAST_DIGITS.length) {
    begin = randomUUID().slice(0, -2);
    used = 0;
  }
  const last = LAST_DIGITS[used] ?? "";
  used += 1;
  return begin + last;
}
