// The one helper that asks over HTTP and gives what came as it came: header lines, and bytes.
import type { Agent } from "node:http";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gunzip as gunzipWithCallback } from "node:zlib";
import { expectDocumented } from "./documented.ts";

const gunzip = promisify(gunzipWithCallback);

export interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Received {
  status: number;
  /** Name and value of each header in their order; of `exchange`, but those of the one request. */
  headers: string[];
  body: Buffer;
}

/** When it was asked, under which id, and how long it took: never the same for two requests. */
const OF_THE_REQUEST = new Set(["Date", "X-Request-Id", "Server-Timing"]);

export interface Means {
  agent?: Agent;
  signal?: AbortSignal;
}

/**
 * Asks the service at this URL; what REST answers is held to the OpenAPI document. Each request has a
 * connection of its own, unless an agent is given.
 */
export async function exchange(url: string, asked: Asked, means: Means = {}): Promise<Received> {
  const { headers, ...received } = await exchangeWhole(url, asked, means);
  const byName = Object.fromEntries(
    headers.flatMap((name, n) => (n % 2 === 0 ? [[name.toLowerCase(), headers[n + 1] ?? ""]] : [])),
  ) as Record<string, string>;
  const isCompressed = byName["content-encoding"] === "gzip" && received.body.length > 0;
  const body = isCompressed ? await gunzip(received.body) : received.body;
  // As it was sent: without `..` and the like.
  const { pathname, search } = new URL(asked.path, url);
  expectDocumented({
    method: asked.method ?? "GET",
    path: pathname + search,
    status: received.status,
    headers: byName,
    body: body.toString(),
  });
  return {
    ...received,
    headers: headers.filter((_, n) => !OF_THE_REQUEST.has(headers[n - (n % 2)] ?? "")),
  };
}

/** As `exchange`, of whatever answers there: all headers, and no document. */
export function exchangeWhole(
  url: string,
  { method = "GET", path, headers = {}, body }: Asked,
  { agent, signal }: Means = {},
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
        resolve({
          status: response.statusCode ?? 0,
          headers: response.rawHeaders,
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
