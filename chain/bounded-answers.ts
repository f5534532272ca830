// Reads an answer of a node as long as its JSON stays near the size of its text in memory.
import { Agent, fetch, type RequestInit as UndiciInit } from "undici";
import { ResponseBodyTooLargeError } from "viem";
import { jsonPartsOf, MAX_JSON_PARTS } from "../db/json-parts.ts";

/** Without one, undici 8 sends by Node's, where Node's `fetch` was called before. */
const dispatcher = new Agent();

/**
 * As `fetch`, by undici 8: that of Node 24 ends the process where a node closes a connection while its answer is read
 * (https://github.com/nodejs/undici/issues/5360). Reading a body with more parts throws viem's error of one that is too large.
 */
export async function fetchBounded(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const url = input instanceof Request ? input.url : input;
  // The types of Node's are of another version.
  const options = { ...(init as unknown as UndiciInit), dispatcher };
  const { body, status, statusText, headers } = await fetch(url, options);
  const answer = { status, statusText, headers: [...headers] };
  if (body === null) return new Response(null, answer);
  let parts = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      parts += jsonPartsOf(chunk);
      if (parts <= MAX_JSON_PARTS) controller.enqueue(chunk);
      else {
        controller.error(new ResponseBodyTooLargeError({ maxSize: MAX_JSON_PARTS, size: parts }));
      }
    },
  });
  return new Response(body.pipeThrough(counting), answer);
}
