// Headers that a layer in front of the service gives to whatever answer comes.
import type { OutgoingHttpHeader, ServerResponse } from "node:http";

type WriteHead = (status: number, ...rest: unknown[]) => ServerResponse;

/**
 * Has the answer carry these headers too, whoever makes it. `headersOf` is called once, when the
 * head of the answer is written, and gives names and values in turn.
 *
 * `setHeader` would do, but an answer whose headers come as a list, as one from memory does, is then
 * put together anew: that takes three times as long as to answer it.
 */
export function addHeaders(res: ServerResponse, headersOf: () => string[]): void {
  const writeHead = res.writeHead.bind(res) as WriteHead;
  const withHeaders: WriteHead = (status, ...rest) => {
    const added = headersOf();
    const list = rest.at(-1);
    if (Array.isArray(list)) {
      const headers = [...(list as OutgoingHttpHeader[]), ...added];
      return writeHead(status, ...rest.slice(0, -1), headers);
    }
    for (let n = 0; n < added.length; n += 2) res.setHeader(added[n] ?? "", added[n + 1] ?? "");
    return writeHead(status, ...rest);
  };
  // An own property: Express replaces the prototype.
  res.writeHead = withHeaders;
}
