// A server that answers each request with the same bytes, and closes the connection at once.
import { createServer, type AddressInfo } from "node:net";
import { getGlobalDispatcher, MockAgent, setGlobalDispatcher } from "undici";

/** Longer than what a client takes before it reads. */
export const LONG = Buffer.alloc(4_000_000, "a");

/**
 * Gives its URL, and ends it afterwards. Meanwhile the process has a dispatcher that refuses, as it can have Node's, which fails
 * where a connection is closed.
 */
export async function withClosingServer(use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Length: ${LONG.length}\r\nConnection: close\r\n\r\n`,
      );
      socket.end(LONG);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const before = getGlobalDispatcher();
  const refusing = new MockAgent();
  refusing.disableNetConnect();
  setGlobalDispatcher(refusing);
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    setGlobalDispatcher(before);
    await new Promise((resolve) => server.close(resolve));
  }
}
