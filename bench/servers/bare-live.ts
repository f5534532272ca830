// A bare server of hostile clients: writes as many bytes as the service, at the same times, and makes none of them.
//
// It reads no request: what clients of live data cost the machine, whatever the service does.
import { createServer, type Socket } from "node:net";
import { listenAndTell } from "./listen.ts";

const given = (name: string): number => Number(process.env[name]);

const DELAY_MS = given("DELAY_MS");
const EVERY_MS = given("EVERY_MS");
/** Where a client's pattern for the start of a stream, of a connection, or of an event looks. */
const ACKNOWLEDGED = 'HTTP/1.1 200 OK\r\n\r\n"connection_ack"';
const FIRST = Buffer.from('event: "type":"next"'.padEnd(given("FIRST_BYTES"), "."));
const NEXT = Buffer.from(".".repeat(given("NEXT_BYTES")));

const following = new Set<Socket>();

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.on("close", () => following.delete(socket));
  socket.once("data", () => {
    socket.write(ACKNOWLEDGED);
    setTimeout(() => {
      socket.write(FIRST);
      following.add(socket);
    }, DELAY_MS);
  });
});

setInterval(() => {
  for (const socket of following) {
    // The service keeps about as much for a client that reads nothing.
    if (socket.writableLength < FIRST.length + NEXT.length) socket.write(NEXT);
  }
}, EVERY_MS);

listenAndTell(server);
