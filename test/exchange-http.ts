// The one helper that asks over HTTP and gives what came as it came: header lines, and bytes.
import type { Agent } from "node:http";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";

export interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Received {
  status: number;
  /** Name and value of each header but those of the one request, in their order. */
  headers: string[];
  body: Buffer;
}

/** When it was asked, under which id, and how long it took: never the same for two requests. */
const OF_THE_REQUEST = new Set(["Date", "X-Request-Id", "Server-Timing"]);

/** Asks a service at this URL. Each request has a connection of its own, unless an agent is given. */
export function exchange(
  url: string,
  { method = "GET", path, headers = {}, body }: Asked,
  { agent, signal }: { agent?: Agent; signal?: AbortSignal } = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const asking = request(new URL(path, url), {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) }),
      },
      agent: agent ?? false,
      ...(signal ? { signal } : {}),
    });
    asking.on("error", reject);
    asking.on("response", (response) => {
      buffer(response).then((bytes) => {
        const lines = response.rawHeaders;
        resolve({
          status: response.statusCode ?? 0,
          headers: lines.filter((_, n) => !OF_THE_REQUEST.has(lines[n - (n % 2)] ?? "")),
          body: bytes,
        });
      }, reject);
    });
    asking.end(body);
  });
}

/** A GraphQL request by POST. */
export const graphql = (body: object | string, headers: Record<string, string> = {}): Asked => ({
  method: "POST",
  path: "/graphql",
  headers: { "Content-Type": "application/json", Accept: "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
