// Which bytes of a file a request asks for.
import type { IncomingHttpHeaders } from "node:http";

/** From `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

// Of any length: a number that is rounded is behind the end of every file.
const RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * Undefined for the whole file: without `Range`, with several ranges or another unit, and where `If-Range` names other
 * bytes. "none" where the range begins behind the end of the file.
 */
export function byteRange(
  { range, "if-range": condition }: IncomingHttpHeaders,
  size: number,
  etag: string,
): ByteRange | "none" | undefined {
  const [, first, last] = RANGE.exec(range ?? "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return undefined;
  if (condition !== undefined && condition !== etag) return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "none" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "none" : { start, end };
}
