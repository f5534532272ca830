// The body of a GraphQL request, read in front of Express.
import type { IncomingMessage } from "node:http";

const JSON_TYPE = /^application\/json\s*(?:;|$)/;

/** Uncompressed JSON of a known length within the limit. Express reads other bodies. */
export const isShortJson = ({ headers }: IncomingMessage, bodyBytes: number): boolean =>
  JSON_TYPE.test(headers["content-type"] ?? "") &&
  headers["content-encoding"] === undefined &&
  Number(headers["content-length"]) <= bodyBytes;

/** Reads a body of a known length into `req.body`, for Express too. Not `done` if the client goes away. */
export function readBody(
  req: IncomingMessage & { body?: unknown },
  done: (body: Buffer) => void,
): void {
  let missing = Number(req.headers["content-length"]);
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer): void => {
    missing -= chunk.length;
    chunks.push(chunk);
    if (missing > 0) return;
    const body = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    req.body = body;
    done(body);
  };
  // An empty body has no 'data'.
  if (missing === 0) take(Buffer.alloc(0));
  else req.on("data", take);
}
