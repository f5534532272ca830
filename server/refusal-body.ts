// What a request is told that is refused before any route: in the form of the interface it asks.
import { v1Envelope, v2Envelope } from "../rest/envelope.ts";
import type { LastHead } from "../rest/last-head.ts";

/** The body of a refusal: `errors` for GraphQL, else an envelope, v1's below /v1. */
export function refusalBody(head: LastHead): (path: string, message: string) => object {
  return (path, message) => {
    if (/^\/graphql(?![^/?])/.test(path)) return { errors: [{ message }] };
    const envelope = /^\/v1(?![^/?])/.test(path) ? v1Envelope : v2Envelope;
    return envelope.failure(message, head.time());
  };
}
