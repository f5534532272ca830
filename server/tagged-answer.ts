// Sends bytes with a strong tag, compressed where that is worth it, or says that the client has them.
import type { Request, Response } from "express";
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { gzip as gzipWithCallback } from "node:zlib";

export const gzip = promisify(gzipWithCallback);

/** Shorter answers gain nothing from compression. */
const COMPRESS_ABOVE_BYTES = 1024;

/** What an answer is made of. */
export interface Tagged {
  type: string;
  cacheControl: string;
  plain: Buffer;
  /** Of the plain bytes. */
  tag: string;
  /** Called where the client takes it. */
  compressed: () => Promise<Buffer>;
}

/** The tag of these bytes, without quotes. */
export const tagOf = (bytes: Buffer): string => hash("sha1", bytes, "base64url");

/**
 * Sends a successful answer, or 304 when the client has it.
 *
 * A strong ETag promises equal bytes, so the compressed form has one of its own. Both are made
 * from the plain bytes, and a request that is asked again with the same Accept-Encoding finds its
 * tag again. HEAD gives exactly the headers of GET: that is why the compression is done here and
 * not by a middleware behind it.
 */
export async function answerTagged(
  req: Request,
  res: Response,
  { type, cacheControl, plain, tag, compressed }: Tagged,
): Promise<void> {
  const isCompressed =
    plain.length > COMPRESS_ABOVE_BYTES && req.acceptsEncodings("gzip", "identity") === "gzip";

  res.vary("Accept-Encoding");
  res.set("Cache-Control", cacheControl);
  res.set("ETag", isCompressed ? `"${tag}-gzip"` : `"${tag}"`);
  if (req.fresh) {
    res.status(304).end();
    return;
  }

  res.set("Content-Type", type);
  if (isCompressed) res.set("Content-Encoding", "gzip");
  res.send(isCompressed ? await compressed() : plain);
}
