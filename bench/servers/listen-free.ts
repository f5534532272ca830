// Listens on a free port and prints the URL, which bench/servers/start.ts reads.
import type { Server } from "node:net";

export function listenAndTell(server: Server): void {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("not listening on a port");
    console.log(`LISTENS http://127.0.0.1:${address.port}`);
  });
}
