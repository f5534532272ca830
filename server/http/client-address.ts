// Who asks: the address of the client, also behind proxies.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyaddr from "proxy-addr";

/**
 * Which proxies in front of the service are believed when they say, in X-Forwarded-For, whom they ask
 * for: so many of them, or those with these addresses, as proxy-addr takes them. 0 is none.
 */
export type TrustedProxies = number | readonly string[];

export function clientAddressOf(trusted: TrustedProxies): (req: IncomingMessage) => string {
  const nearest = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? "";
  if (trusted === 0) return nearest;
  const isTrusted =
    typeof trusted === "number"
      ? (_address: string, hop: number) => hop < trusted
      : proxyaddr.compile([...trusted]);
  return (req) => {
    const address = proxyaddr(req, isTrusted);
    // A proxy that adds a port, or its own words, would make each request another client's.
    return isIP(address) === 0 ? nearest(req) : address;
  };
}
