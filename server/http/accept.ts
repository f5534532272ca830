// Drops from the Accept header what is not a media range.
import { format, parse, type ContentType } from "content-type";
import type { IncomingMessage, RequestListener } from "node:http";

const MEDIA_RANGE = /^(?:\*\/\*|[^*/]+\/(?:\*|[^*/]+))$/;
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

// grafserv's own parser throws for an empty element. HTTP lets a server disregard the header.
/** The header with its well-formed elements only; without any, it accepts everything. */
export function readableAccept(header: string): string {
  const ranges: string[] = [];
  for (let start = 0; start < header.length;) {
    const element = parse(header, { comma: true, start });
    start = element.index + 1;
    if (isMediaRange(element)) ranges.push(asText(element));
  }
  return ranges.filter((range) => range !== "").join(", ") || "*/*";
}

const isMediaRange = ({ type, parameters: { q } }: ContentType): boolean =>
  MEDIA_RANGE.test(type) && (q === undefined || QUALITY.test(q));

/** Empty for a type or parameter with characters that HTTP does not allow. */
function asText(element: ContentType): string {
  try {
    return format(element);
  } catch {
    return "";
  }
}

export const withReadableAccept =
  (next: RequestListener): RequestListener =>
  (req: IncomingMessage, res) => {
    const { headers } = req;
    if (headers.accept !== undefined) headers.accept = readableAccept(headers.accept);
    next(req, res);
  };
