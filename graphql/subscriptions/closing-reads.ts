// Reads no more of a client that goes on sending while its connection is being closed.
import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** Read after the end: room for what was on its way, and for the client's answer. */
const MAX_BYTES = 16_384;

/** ws would handle each frame until it disconnects the client, and a flood of small ones takes all of the event loop. */
export function boundClosing(socket: WebSocket, raw: Socket): void {
  let read = 0;
  raw.on("data", ({ length }: Buffer) => {
    if (socket.readyState === socket.OPEN) return;
    read += length;
    if (read > MAX_BYTES) socket.pause();
  });
}
