// A GraphQL request as it comes over HTTP: which may share an answer, and its body.
import type { IncomingMessage } from "node:http";

/** A request whose body was read. GraphQL takes it from `body`, as Express has it. */
export type ReadRequest = IncomingMessage & { body?: unknown };

/** A GraphQL request's body. */
export interface GraphqlBody {
  /** Equal for bodies that ask for the same. */
  key: string;
  query: string;
}

/**
 * Whether this is plain JSON that says how long it is, which is no more than GraphQL takes. All
 * others are read by GraphQL itself.
 */
export function isShortJson({ headers }: IncomingMessage, bodyBytes: number): boolean {
  return (
    isJson(headers["content-type"]) &&
    headers["content-encoding"] === undefined &&
    Number(headers["content-length"]) <= bodyBytes
  );
}

function isJson(type = ""): boolean {
  if (type === JSON_TYPE) return true;
  const [essence = ""] = type.split(";", 1);
  return essence.trim() === JSON_TYPE;
}

const JSON_TYPE = "application/json";

/**
 * Reads the body of a request that says how long it is, and calls `done` with the whole of it as soon
 * as that is there. Where the client goes away before, nothing is called, and what was read goes with
 * the request.
 */
export function readBody(req: IncomingMessage, done: (body: Buffer) => void): void {
  let missing = Number(req.headers["content-length"]);
  if (missing === 0) {
    done(Buffer.alloc(0));
    return;
  }
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => {
    missing -= chunk.length;
    // Most come in one piece.
    if (missing === 0) done(chunks.length === 0 ? chunk : Buffer.concat([...chunks, chunk]));
    else chunks.push(chunk);
  });
}

/**
 * The request in a body; undefined where it is none. Only the order of keys and white space make no
 * difference to the key: what else is in the body may matter to GraphQL.
 */
export function parseGraphqlBody(body: Buffer): GraphqlBody | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"));
    return isRequest(parsed) ? { key: inOneOrder(parsed), query: parsed.query } : undefined;
  } catch {
    // No JSON, or nested so deeply that the stack does not hold it.
    return undefined;
  }
}

function isRequest(parsed: unknown): parsed is { query: string } {
  return (
    typeof parsed === "object" &&
    parsed !== null &&
    "query" in parsed &&
    typeof parsed.query === "string"
  );
}

/** JSON with the keys of every object in one order. */
function inOneOrder(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inOneOrder).join(",")}]`;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${inOneOrder(field)}`).join(",")}}`;
}

// Anything named so is taken for one: then its answer is not shared, and that is all.
const CHANGES_OR_STREAMS = /\b(?:mutation|subscription)\b/;

/** Whether a query cannot be anything but a read that is answered at once. */
export const onlyReads = (query: string): boolean => !CHANGES_OR_STREAMS.test(query);
