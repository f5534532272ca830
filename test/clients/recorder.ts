// Stands between a client and the service, and notes which rows the service sent: a client's cache
// would hide a row that came twice.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Recorder {
  url: string;
  /** The ids of all rows that were sent since the last time this was asked, page by page. */
  takePages(): string[][];
  /** The block that each page asked for, and the block that it is of, since the last time this was asked. */
  takeBlocks(): { least: number; block: number }[];
  close(): Promise<void>;
}

/** Starts it, in front of the service at this URL. While a page is asked for, `meanwhile` happens. */
export async function makeRecorder(
  target: string,
  meanwhile: () => Promise<void>,
): Promise<Recorder> {
  let pages: string[][] = [];
  let blocks: { least: number; block: number }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const least = request.headers["x-min-block"];
      const asked = least === undefined ? {} : { "x-min-block": String(least) };
      const asking = fetch(new URL(request.url ?? "", target), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: request.headers.accept ?? "*/*",
          ...asked,
        },
        body: await text(request),
      });
      const [answer] = await Promise.all([asking, meanwhile()]);
      const body = await answer.text();
      pages.push([...body.matchAll(/"id":"(\d+)"/g)].map(([, id = ""]) => id));
      const block = answer.headers.get("x-head-block") ?? "";
      blocks.push({ least: Number(least ?? NaN), block: Number(block) });
      const type = answer.headers.get("content-type") ?? "";
      response.writeHead(answer.status, { "content-type": type, "x-head-block": block }).end(body);
    })();
  });
  // A client that takes its time over a page would find its connection closed.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/graphql`,
    takePages() {
      const taken = pages;
      pages = [];
      return taken;
    },
    takeBlocks() {
      const taken = blocks;
      blocks = [];
      return taken;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
