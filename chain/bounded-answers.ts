// Reads an answer of a node as long as its JSON stays near the size of its text in memory.
import { ResponseBodyTooLargeError } from "viem";

/**
 * Lists, objects and members: each takes some 40 bytes, however short its text. 32 MB of logs have 900,000, and 32 MB of
 * `[` would end the process.
 */
const MAX_PARTS = 1_500_000;

const [COMMA, LIST, OBJECT] = Buffer.from(",[{");

/** As `fetch`. Reading a body with more parts throws viem's error of one that is too large. */
export async function fetchBounded(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, init);
  if (response.body === null) return response;
  let parts = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const byte of chunk) {
        if (byte === COMMA || byte === LIST || byte === OBJECT) parts += 1;
      }
      if (parts <= MAX_PARTS) controller.enqueue(chunk);
      else {
        controller.error(new ResponseBodyTooLargeError({ maxSize: MAX_PARTS, size: parts }));
      }
    },
  });
  return new Response(response.body.pipeThrough(counting), response);
}
