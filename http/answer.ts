// Makes an answer in one encoding, and sends it.
import fresh from "fresh";
import Negotiator from "negotiator";
import { hash } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { AnswerBlock, RequestState } from "./request.ts";
import { FIXED_HEADERS } from "./fixed-headers.ts";

// The head moves every few seconds at most. A proxy's cache may answer a burst of equal requests, and no
// figure is more than a second late.
export const CACHE_CONTROL = "public, max-age=1";

// The chain changes such an answer no more. A registration still can.
export const CACHE_CONTROL_OF_FINAL = "public, max-age=3600";

/** An answer of status 200 in one encoding. */
export interface Answer {
  /** Alternating names and values, as `writeHead` takes them. */
  headers: readonly OutgoingHttpHeader[];
  /** A short one is ASCII text, which Node writes in one piece with the headers. */
  body: string | Buffer;
  etag: string | undefined;
  /** The head that the data are of; null without a head. */
  block?: AnswerBlock;
  /** Whether the data are of a block that was asked for: `block` is the head of their snapshot. */
  isPast?: boolean;
  /** The request that it was made for. */
  madeFor?: RequestState | undefined;
}

export type Encoding = "br" | "gzip" | "identity";

type Compressed = Exclude<Encoding, "identity">;

// @types/negotiator lacks `preferred`.
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

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

export async function encoded(plain: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === "identity") return plain;
  return encoding === "gzip" ? promisify(gzip)(plain) : promisify(brotliCompress)(plain, BROTLI);
}

export interface Content {
  type: string;
  cacheControl: string;
  plain: string | Buffer;
  fixed?: readonly string[];
  vary?: string;
  /** The head that the data are of. */
  block?: number | null;
  /** Whether a reader can check the bytes. */
  isDigested?: boolean | undefined;
}

/** The header that names the head of the data. */
export const headBlock = (block: AnswerBlock): string[] =>
  block == null ? [] : ["X-Head-Block", String(block)];

/** Strong: it promises equal bytes, so each encoding has another one. */
export function etagOf(plain: string | Buffer, encoding: Encoding): string {
  const tag = hash("sha1", plain, "base64url");
  return encoding === "identity" ? `"${tag}"` : `"${tag}-${encoding}"`;
}

/** By RFC 9530: of the bytes as they are sent. */
const digestOf = (body: string | Buffer): string => `sha-256=:${hash("sha256", body, "base64")}:`;

export const bytesOf = (plain: string | Buffer): Buffer =>
  typeof plain === "string" ? Buffer.from(plain) : plain;

export async function etagAnswer(content: Content, wanted: Encoding): Promise<Answer> {
  const { type, cacheControl, plain, fixed = FIXED_HEADERS, vary = "Accept-Encoding" } = content;
  const { block, isDigested = false } = content;
  const length = Buffer.byteLength(plain);
  const isShort = length <= COMPRESS_FROM_BYTES;
  const encoding = isShort ? "identity" : wanted;
  const isShortAscii = isShort && length === plain.length;
  const body = isShortAscii ? plain : await encoded(bytesOf(plain), encoding);
  const etag = etagOf(plain, encoding);
  const headers = [
    ...fixed,
    ...["Vary", vary, "Cache-Control", cacheControl, "ETag", etag],
    ...headBlock(block),
    ...["Content-Type", type],
    ...(encoding === "identity" ? [] : ["Content-Encoding", encoding]),
    ...(isDigested ? ["Content-Digest", digestOf(body)] : []),
    ...["Content-Length", body.length],
  ];
  return { headers, body, etag, block };
}

/** Makes the answer of each source once in each encoding, and keeps it as long as the source. */
export function keptAnswers<Source extends object>(
  contentOf: (source: Source) => Content | Promise<Content>,
) {
  const kept = new WeakMap<Source, Map<Encoding, Promise<Answer>>>();
  const make = async (source: Source, encoding: Encoding): Promise<Answer> =>
    etagAnswer(await contentOf(source), encoding);
  return (source: Source, encoding: Encoding): Promise<Answer> => {
    const answers = kept.get(source) ?? new Map<Encoding, Promise<Answer>>();
    kept.set(source, answers);
    const known = answers.get(encoding);
    if (known !== undefined) return known;
    const answer = make(source, encoding);
    answers.set(encoding, answer);
    // The next request tries again, as after a moment without a free file descriptor.
    answer.catch(() => answers.delete(encoding));
    return answer;
  };
}

const BODY_HEADERS = /^Content-(?:Type|Encoding|Digest|Length)$/i;

/** Sends an answer, or 304 to a client that has it. Node leaves out the body for HEAD. */
export function sendAnswer(
  { headers: asked }: IncomingMessage,
  res: ServerResponse,
  { headers, body, etag }: Answer,
): void {
  if (etag !== undefined && asked["if-none-match"] !== undefined && fresh(asked, { etag })) {
    const kept = headers.filter((_, n) => !BODY_HEADERS.test(String(headers[n - (n % 2)])));
    res.writeHead(304, kept).end();
  } else res.writeHead(200, headers as OutgoingHttpHeader[]).end(body, "latin1");
}

/** Gives equal requests one answer, if the cache is on. */
export type ShareAnswer = (
  req: IncomingMessage,
  make: () => Promise<Answer | undefined>,
) => Promise<Answer | undefined>;
