// Serves the folder of files: its manifest, and the files that it lists.
import { Router, type Request, type Response } from "express";
import fresh from "fresh";
import { pipeline } from "node:stream/promises";
import type { ExportedFolder, Listing } from "../../db/export/exported-folder.ts";
import { MANIFEST, type ListedFile } from "../../db/export/manifest.ts";
import { encodingFor, keptAnswers, sendAnswer } from "../../http/answer.ts";
import { NoSuchFile, RangeBehindEnd } from "../../http/errors.ts";
import { FIXED_HEADERS } from "../../http/fixed-headers.ts";
import { readOnlyRoute } from "../../http/paths.ts";
import { byteRange } from "./byte-range.ts";

/** It gets a day more each day. */
export const CACHE_CONTROL_OF_MANIFEST = "public, max-age=60";

/** A file never changes under its name. */
export const CACHE_CONTROL_OF_FILE = "public, max-age=31536000, immutable";

/** By the end of the name. */
export const FILE_TYPES = {
  ".csv.gz": "application/gzip",
  ".parquet": "application/vnd.apache.parquet",
  ".csv": "text/csv; charset=utf-8",
};

const typeOf = (name: string): string =>
  Object.entries(FILE_TYPES).find(([end]) => name.endsWith(end))?.[1] ?? "application/octet-stream";

export function filesRouter(folder: ExportedFolder | undefined): Router {
  const router = Router({ caseSensitive: true });
  const manifestOf = keptAnswers(manifestContent);

  const listed = async (): Promise<Listing> => {
    const listing = await folder?.listing();
    if (listing === undefined) throw new NoSuchFile("no day has been exported");
    return listing;
  };

  const sendManifest = async (req: Request, res: Response): Promise<void> => {
    sendAnswer(req, res, await manifestOf(await listed(), encodingFor(req, "gzip")));
  };

  readOnlyRoute(router, "/files", sendManifest);
  readOnlyRoute(router, `/files/${MANIFEST}`, sendManifest);
  readOnlyRoute(router, "/files/:name", async (req, res) => {
    const file = (await listed()).files.get(String(req.params["name"]));
    if (file === undefined || folder === undefined) {
      throw new NoSuchFile("/v2/files/manifest.json lists those that there are");
    }
    await sendFile(req, res, folder, file);
  });
  return router;
}

const manifestContent = ({ text }: Listing) => ({
  type: "application/json; charset=utf-8",
  cacheControl: CACHE_CONTROL_OF_MANIFEST,
  plain: text,
});

async function sendFile(
  req: Request,
  res: Response,
  folder: ExportedFolder,
  file: ListedFile,
): Promise<void> {
  const { name, bytes, sha256 } = file;
  const etag = `"${sha256}"`;
  const headers = [
    ...FIXED_HEADERS,
    ...["Cache-Control", CACHE_CONTROL_OF_FILE, "ETag", etag, "Accept-Ranges", "bytes"],
  ];
  if (req.headers["if-none-match"] !== undefined && fresh(req.headers, { etag })) {
    res.writeHead(304, headers).end();
    return;
  }
  // RFC 9110, 14.2: other methods have no ranges.
  const range = req.method === "GET" ? byteRange(req.headers, bytes, etag) : undefined;
  if (range === "none") throw new RangeBehindEnd(bytes);
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  const handle = await folder.open(file);
  const length = end - start + 1;
  headers.push("Content-Type", typeOf(name), "Content-Length", String(length));
  if (range !== undefined) headers.push("Content-Range", `bytes ${start}-${end}/${bytes}`);
  res.writeHead(range === undefined ? 200 : 206, headers);
  if (req.method === "HEAD") {
    await handle.close();
    res.end();
    return;
  }
  const stream = handle.createReadStream({ start, end });
  try {
    await pipeline(stream, res, { end: false });
  } catch {
    // The client has left, or the disk fails: the headers are sent.
    res.destroy();
    return;
  }
  if (stream.bytesRead === length) res.end();
  else res.destroy();
}
