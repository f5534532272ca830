// Reads the bodies of most requests to GraphQL in front of Express: JSON whose length is known. Express reads others.
import type { IncomingMessage } from "node:http";

/** Another charset, and what may mean one, is left to the check in Express. */
const JSON_TYPE = /^application\/json(?:\s*;\s*charset=utf-?8)?$/i;

/** Uncompressed JSON of a known length within the limit. */
export const isShortJson = ({ headers }: IncomingMessage, bodyBytes: number): boolean =>
  JSON_TYPE.test(headers["content-type"] ?? "") &&
  headers["content-encoding"] === undefined &&
  Number(headers["content-length"]) <= bodyBytes;

/** Reads a body of a known length. Not `done` if the client goes away. */
export function readBody(req: IncomingMessage, done: (body: Buffer) => void): void {
  let missing = Number(req.headers["content-length"]);
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer): void => {
    missing -= chunk.length;
    chunks.push(chunk);
    if (missing <= 0) done(chunks.length === 1 ? chunk : Buffer.concat(chunks));
  };
  // An empty body has no 'data'.
  if (missing === 0) take(Buffer.alloc(0));
  else req.on("data", take);
}
