// Answers GET /graphql?documentId=…&variables=…, so that caches in front keep the answers as they keep those of REST.
import { Router, type RequestHandler } from "express";
import type { IncomingMessage } from "node:http";
import { sendAnswer } from "../../http/answer.ts";
import { budgetOf } from "../../http/cache/answer-cache.ts";
import { BadBody } from "../../http/errors.ts";
import { FIXED_HEADERS } from "../../http/fixed-headers.ts";
import { stateOf } from "../../http/request.ts";
import { digestOf, type Process } from "../plain-posts.ts";
import type { PersistedDocuments } from "./documents.ts";

/** Those of the appendix of GraphQL over HTTP, with the order of the canonical form. */
const PARAMETERS = ["documentId", "operationName", "variables", "extensions"] as const;

function parametersOf(url: string): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at));
}

/** Whether a request names a persisted document by GET or HEAD; any other is refused. */
export const asksByUrl = ({ method, url = "" }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") &&
  url.includes("?") &&
  parametersOf(url).has("documentId");

/** What decides the answer, for the cache; undefined for another path, and for a document that is unknown. */
export const persistedQuestions =
  (documents: PersistedDocuments) =>
  (req: IncomingMessage): string | undefined => {
    const state = stateOf(req);
    if (!state.isForGraphql) return undefined;
    const given = parametersOf(req.url ?? "");
    if (!documents.has(given.get("documentId") ?? "")) return undefined;
    // Others change no answer, but for `query`, which is refused, one that is given twice, and one that is misspelt.
    const asked = [...given].filter(([name]) => meant(name) !== undefined || name === "query");
    const { accept = "" } = req.headers;
    // GraphQL reads the head only for a request that asks for a block.
    const of = `${state.minBlock === undefined ? "" : "\nhead"}${budgetOf(state)}`;
    return `${JSON.stringify(asked)}\n${accept}${of}`;
  };

/** The parameter that a name stands for, also in another letter case or with brackets behind it. */
function meant(given: string): string | undefined {
  const bare = given.replace(/\[.*$/s, "").toLowerCase();
  return PARAMETERS.find((name) => name.toLowerCase() === bare);
}

/** The same request as the body of a POST. */
function bodyOf(url: string): Buffer {
  const given = parametersOf(url);
  if (given.has("query")) throw new BadBody("query must not be in the URL: send it by POST");
  for (const name of PARAMETERS) {
    if (given.getAll(name).length > 1) throw new BadBody(`${name} must be given once`);
  }
  for (const key of given.keys()) {
    const name = meant(key);
    if (name !== undefined && name !== key) throw new BadBody(`${key} must be written ${name}`);
  }
  const { documentId, operationName } = Object.fromEntries(given);
  const members = [`"documentId":${JSON.stringify(documentId)}`];
  if (operationName) members.push(`"operationName":${JSON.stringify(operationName)}`);
  for (const name of ["variables", "extensions"] as const) {
    const text = given.get(name);
    if (text === null) continue;
    if (!isJson(text)) throw new BadBody(`${name} must be JSON`);
    // The text and not its value, whose numbers would be rounded.
    members.push(`"${name}":${text}`);
  }
  return Buffer.from(`{${members.join(",")}}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export interface PersistedGetsOptions {
  process: () => Process | undefined;
  /** What a request waits for, before it is answered. */
  first: readonly RequestHandler[];
}

/** Stands in front of what refuses GET. */
export function persistedGets({ process, first }: PersistedGetsOptions): Router {
  const router = Router({ caseSensitive: true });
  router.get(
    "/",
    (req, _res, next) => {
      if (!asksByUrl(req)) {
        next("router");
        return;
      }
      stateOf(req).body = bodyOf(req.originalUrl);
      next();
    },
    ...first,
    async (req, res) => {
      const run = process();
      if (run === undefined) throw new Error("the schema is not built");
      const result = await run(digestOf(req, res));
      if (result?.type === "error") throw result.error;
      if (result?.type !== "buffer") throw new Error(`grafserv has made ${result?.type}`);
      const { statusCode, headers, buffer: body } = result;
      const all = [...FIXED_HEADERS, ...Object.entries(headers).flat()];
      if (statusCode === 200) sendAnswer(req, res, { headers: all, body, etag: headers["etag"] });
      else res.writeHead(statusCode, all).end(body);
    },
  );
  return router;
}
