// Sends HTTP requests, and returns the raw header lines and bytes of the response.
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
  /** Alternating names and values; `exchange` removes the headers that differ for each request. */
  headers: string[];
  body: Buffer;
}

/** Headers that differ for each request. */
const REQUEST_HEADERS = new Set(["Date", "X-Request-Id", "Server-Timing"]);

export interface Means {
  agent?: Agent;
  signal?: AbortSignal;
}

/**
 * Sends a request, and checks a REST response against the OpenAPI document. Each request has its own
 * connection, unless an agent is given.
 */
export async function exchange(url: string, asked: Asked, means: Means = {}): Promise<Received> {
  const { headers, ...received } = await exchangeWhole(url, asked, means);
  const byName = Object.fromEntries(
    headers.flatMap((name, n) => (n % 2 === 0 ? [[name.toLowerCase(), headers[n + 1] ?? ""]] : [])),
  ) as Record<string, string>;
  const isCompressed = byName["content-encoding"] === "gzip" && received.body.length > 0;
  const body = isCompressed ? await gunzip(received.body) : received.body;
  // The path as sent, without `..` segments.
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
    headers: headers.filter((_, n) => !REQUEST_HEADERS.has(headers[n - (n % 2)] ?? "")),
  };
}

/** Like `exchange`, with all headers and without the OpenAPI check. */
export function exchangeWhole(
  url: string,
  { method = "GET", path, headers = {}, body }: Asked,
  { agent, signal }: Means = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, url), {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) }),
      },
      agent: agent ?? false,
      ...(signal ? { signal } : {}),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      buffer(response).then((bytes) => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.rawHeaders,
          body: bytes,
        });
      }, reject);
    });
    outgoing.end(body);
  });
}

/** A GraphQL request by POST. */
export const graphql = (body: object | string, headers: Record<string, string> = {}): Asked => ({
  method: "POST",
  path: "/graphql",
  headers: { "Content-Type": "application/json", Accept: "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
