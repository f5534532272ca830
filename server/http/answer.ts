// A finished answer: its headers and body in one encoding, and how it is sent.
import fresh from "fresh";
import Negotiator from "negotiator";
import { hash } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Observation } from "./observe/observation.ts";
import { STANDING_HEADERS } from "./standing-headers.ts";

/** An answer of status 200. */
export interface Answer {
  /** Names and values in turn, as `writeHead` takes them. */
  headers: readonly OutgoingHttpHeader[];
  /** A string has one character a byte: Node sends a short one in one piece with its headers. */
  body: Buffer | string;
  etag: string | undefined;
  /** The request that it was made for, where requests are observed. */
  madeFor?: Observation | undefined;
}

export type Encoding = "br" | "gzip" | "identity";

type Compressed = Exclude<Encoding, "identity">;

// The types are of an older release.
type Choose = (
  available: readonly Encoding[],
  options: { preferred: readonly Compressed[] },
) => Encoding | undefined;

/** The encoding that the client prefers; among equals, the first of those offered. */
export function encodingFor(req: IncomingMessage, ...offered: readonly Compressed[]): Encoding {
  if (req.headers["accept-encoding"] === undefined) return "identity";
  const negotiator = new Negotiator(req) as unknown as { encoding: Choose };
  return negotiator.encoding([...offered, "identity"], { preferred: offered }) ?? "identity";
}

/** Shorter bodies gain nothing from compression. */
export const COMPRESS_FROM_BYTES = 1024;

const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** The bytes in this encoding. */
export async function encoded(plain: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === "identity") return plain;
  return encoding === "gzip" ? gzipped(plain) : brotlied(plain, BROTLI);
}

/** Node sends longer bodies with less work as bytes. */
const SHORT_BYTES = 8192;

/** Bytes with memory of their own: a small buffer is a slice of a larger one. */
export const asBody = (bytes: Buffer): Buffer | string =>
  bytes.length <= SHORT_BYTES ? bytes.toString("latin1") : bytes;

export interface Content {
  type: string;
  cacheControl: string;
  plain: string | Buffer;
  /** Instead of `STANDING_HEADERS`. */
  standing?: readonly string[];
  /** Which headers of the request choose the answer; Accept-Encoding unless given. */
  vary?: string;
}

/**
 * An answer with a strong ETag, which promises equal bytes: each encoding has one of its own, made
 * from the plain bytes.
 */
export async function etagAnswer(
  { type, cacheControl, plain, standing = STANDING_HEADERS, vary = "Accept-Encoding" }: Content,
  wanted: Encoding,
): Promise<Answer> {
  const bytes = typeof plain === "string" ? Buffer.from(plain) : plain;
  const encoding = bytes.length > COMPRESS_FROM_BYTES ? wanted : "identity";
  const tag = hash("sha1", bytes, "base64url");
  const body = await encoded(bytes, encoding);
  const etag = encoding === "identity" ? `"${tag}"` : `"${tag}-${encoding}"`;
  const headers = [
    ...standing,
    ...["Vary", vary, "Cache-Control", cacheControl, "ETag", etag],
    ...["Content-Type", type],
    ...(encoding === "identity" ? [] : ["Content-Encoding", encoding]),
    ...["Content-Length", body.length],
  ];
  return { headers, body: asBody(body), etag };
}

const OF_THE_BODY = new Set(["Content-Type", "Content-Encoding", "Content-Length"]);

/** Sends an answer, or 304 to a client that has it. Node leaves out the body for HEAD. */
export function sendAnswer(
  { headers: asked }: IncomingMessage,
  res: ServerResponse,
  { headers, body, etag }: Answer,
): void {
  if (etag !== undefined && asked["if-none-match"] !== undefined && fresh(asked, { etag })) {
    const kept = headers.filter((_, n) => !OF_THE_BODY.has(String(headers[n - (n % 2)])));
    res.writeHead(304, kept).end();
    return;
  }
  res.writeHead(200, headers as OutgoingHttpHeader[]).end(body, "latin1");
}
