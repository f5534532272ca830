// Sends bytes with a strong tag, compressed where that is worth it, or says that the client has them.
import type { Request } from "express";
import fresh from "fresh";
import { hash } from "node:crypto";
import type { OutgoingHttpHeader, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip as gzipWithCallback } from "node:zlib";
import { STANDING_HEADERS } from "./standing-headers.ts";

export const gzip = promisify(gzipWithCallback);

/** Shorter answers gain nothing from compression. */
const COMPRESS_ABOVE_BYTES = 1024;

/** What an answer is made of. */
export interface Tagged {
  type: string;
  cacheControl: string;
  /** Text is sent as UTF-8. */
  plain: Buffer | string;
  /** Of the plain bytes. */
  tag: string;
  /** Called where the client takes it. */
  compressed: () => Promise<Buffer>;
  /** What every answer carries, names and values in turn; without it, `STANDING_HEADERS`. */
  standing?: readonly OutgoingHttpHeader[];
}

/** The tag of these bytes, without quotes. */
export const tagOf = (bytes: Buffer | string): string => hash("sha1", bytes, "base64url");

/**
 * Sends a successful answer to GET or HEAD, or 304 when the client has it; at once, unless it has to be
 * compressed.
 *
 * A strong ETag promises equal bytes, so the compressed form has one of its own. Both are made
 * from the plain bytes, and a request that is asked again with the same Accept-Encoding finds its
 * tag again. HEAD gives exactly the headers of GET: that is why the compression is done here and
 * not by a middleware behind it. All is handed to Node at once: Express's own `send` looks at each
 * header again, and a text goes out with its headers in one piece.
 */
export function answerTagged(
  req: Request,
  res: ServerResponse,
  { type, cacheControl, plain, tag, compressed, standing = STANDING_HEADERS }: Tagged,
): Promise<void> | undefined {
  const bytes = Buffer.byteLength(plain);
  // Who says nothing of encodings, as many programs do, takes none: there is nothing to work out.
  const isCompressed =
    bytes > COMPRESS_ABOVE_BYTES &&
    req.headers["accept-encoding"] !== undefined &&
    req.acceptsEncodings("gzip", "identity") === "gzip";

  const etag = isCompressed ? `"${tag}-gzip"` : `"${tag}"`;
  const headers = [
    ...standing,
    ...["Vary", "Accept-Encoding", "Cache-Control", cacheControl, "ETag", etag],
  ];
  if (fresh(req.headers, { etag })) {
    res.writeHead(304, headers).end();
    return undefined;
  }

  headers.push("Content-Type", type);
  if (!isCompressed) {
    headers.push("Content-Length", bytes);
    // Text of ASCII alone, as all but a few symbols are, goes out faster when it need not be encoded.
    const encoding = bytes === plain.length ? "latin1" : "utf8";
    res.writeHead(200, headers).end(plain, encoding);
    return undefined;
  }
  return compressed().then((body) => {
    headers.push("Content-Encoding", "gzip", "Content-Length", body.length);
    res.writeHead(200, headers).end(body);
  });
}
