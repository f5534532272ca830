// What a request is told that is refused before any route: in the form of the interface it asks.
import { v1Envelope, v2Envelope } from "./envelope.ts";
import type { LastHead } from "./last-head.ts";

/** What a refused request is told: a body, by the path as far as it is known; GraphQL's has a code. */
export type RefusalBody = (path: string, message: string, code?: string) => object;

/** The body of a refusal: `errors` for GraphQL, else an envelope, v1's below /v1. */
export function refusalBody(head: LastHead): RefusalBody {
  return (path, message, code) => {
    if (/^\/graphql(?![^/?])/.test(path)) {
      return { errors: [{ message, ...(code && { extensions: { code } }) }] };
    }
    const envelope = /^\/v1(?![^/?])/.test(path) ? v1Envelope : v2Envelope;
    return envelope.failure(message, head.time());
  };
}
