// A server that answers each request with the same bytes, and closes the connection at once.
import { createServer, type AddressInfo } from "node:net";

/** Longer than what a client takes before it reads. */
export const LONG = Buffer.alloc(4_000_000, "a");

/** Returns its URL, and ends it after the test. */
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
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
