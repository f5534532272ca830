// Sends an envelope: tagged, cacheable, compressed where that is worth it.
import type { Request, Response } from "express";
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { gzip as gzipWithCallback } from "node:zlib";

const gzip = promisify(gzipWithCallback);

/** Shorter answers gain nothing from compression. */
const COMPRESS_ABOVE_BYTES = 1024;

// Figures stand until the head moves, which is every few seconds at most: a cache in front may
// answer a burst of the same request, and nobody sees a figure more than a second late.
const CACHE_CONTROL = "public, max-age=1";

/**
 * Sends a successful answer, or 304 when the client has it.
 *
 * A strong ETag promises equal bytes, so the compressed form has one of its own. Both are made
 * from the plain bytes, and a request that is asked again with the same Accept-Encoding finds its
 * tag again. HEAD gives exactly the headers of GET: that is why the compression is done here and
 * not by a middleware behind it.
 */
export async function answer(req: Request, res: Response, envelope: object): Promise<void> {
  const plain = Buffer.from(JSON.stringify(envelope));
  const compressed =
    plain.length > COMPRESS_ABOVE_BYTES && req.acceptsEncodings("gzip", "identity") === "gzip";
  const digest = hash("sha1", plain, "base64url");

  res.vary("Accept-Encoding");
  res.set("Cache-Control", CACHE_CONTROL);
  res.set("ETag", compressed ? `"${digest}-gzip"` : `"${digest}"`);
  if (req.fresh) {
    res.status(304).end();
    return;
  }

  res.set("Content-Type", "application/json; charset=utf-8");
  if (compressed) res.set("Content-Encoding", "gzip");
  res.send(compressed ? await gzip(plain) : plain);
}
