// Bounds the connections of one address, so that none can open all that the service accepts.
import { STATUS_CODES, type Server } from "node:http";
import type { Socket } from "node:net";
import { Quota } from "./quota.ts";
import { clientAt } from "./request.ts";

/** How often refusals are reported, in milliseconds. */
const REPORT_MS = 10_000;

const TOO_MANY = 429;

export interface ConnectionLimits {
  /** Requests of one client, 0 for any number: then of connections too. */
  requests: number;
  /** Streams of one client, and as many WebSockets. */
  streams: number;
  /** Whether the connections of an address are other clients', who are known by the headers alone. */
  isProxy: (address: string) => boolean;
  warn: (line: string) => void;
}

/** As many as a client can use by its other limits, and as many idle ones. */
const maxConnections = ({ requests, streams }: ConnectionLimits): number =>
  requests === 0 ? Infinity : 2 * (requests + 2 * streams);

export function boundConnections(server: Server, limits: ConnectionLimits): void {
  const max = maxConnections(limits);
  const open = new Quota({ perClient: max, all: Infinity });
  const refused = new Map<string, number>();
  const report = (): void => {
    const count = [...refused.values()].reduce((sum, each) => sum + each, 0);
    limits.warn(
      `Connections refused in ${REPORT_MS / 1000} s: ${count}, of ${refused.size} address(es) with ${max} open. ` +
        `Are they a proxy's, give TRUST_PROXY.`,
    );
    refused.clear();
  };

  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    if (limits.isProxy(address)) return;
    const client = clientAt(address);
    const leave = open.take(client);
    if (leave !== undefined) {
      socket.once("close", leave);
      return;
    }
    if (refused.size === 0) setTimeout(report, REPORT_MS).unref();
    refused.set(client, (refused.get(client) ?? 0) + 1);
    refuseConnection(socket, TOO_MANY, "Retry-After: 1\r\n");
  });
}

/** Closes a connection with a status and whole lines of headers, before its request is known. */
export function refuseConnection(socket: Socket, status: number, headers = ""): void {
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}Connection: close\r\n\r\n`);
  socket.destroySoon();
}
