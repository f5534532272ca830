// The name of a client for the limits: its address, also behind proxies.
import { ipKeyGenerator } from "express-rate-limit";
import { LRUCache } from "lru-cache";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyaddr from "proxy-addr";

/** Which proxies' X-Forwarded-For is believed: a number of them, or their addresses; 0 is none. */
export type TrustedProxies = number | readonly string[];

// ipKeyGenerator takes longer than the rest of the rate limiter.
const networks = new LRUCache<string, string>({
  max: 10_000,
  memoMethod: (address) => ipKeyGenerator(address),
});

/** The address, or the network of an IPv6 address, as one client has many of these. */
export const clientAt = (address = ""): string =>
  address.includes(":") ? networks.memo(address) : address;

export function clientNames(trusted: TrustedProxies): (req: IncomingMessage) => string {
  if (trusted === 0) return ({ socket }) => clientAt(socket.remoteAddress);
  const isTrusted =
    typeof trusted === "number"
      ? (_address: string, hop: number) => hop < trusted
      : proxyaddr.compile([...trusted]);
  return (req) => {
    const address = proxyaddr(req, isTrusted);
    // A port or other text, added by a proxy, would make each request another client's.
    return clientAt(isIP(address) === 0 ? req.socket.remoteAddress : address);
  };
}
