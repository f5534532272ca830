// Answers most operations in front of Express: a POST to /graphql alone, with a short JSON body. Express takes about as
// long as reading the body, checking the limits and writing the answer, and gets whatever else is asked.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestDigest, Result } from "postgraphile/grafserv";
// Declares the request in grafserv's context.
import type {} from "postgraphile/grafserv/node";
import { failInFront, type Refuse } from "../http/refusal.ts";
import { GRAPHQL_PATH, stateOf, type Step } from "../http/request.ts";
import { isShortJson, readBody } from "../http/short-body.ts";
import { FIXED_HEADERS } from "../http/fixed-headers.ts";

/** Runs an operation by grafserv; undefined until it has a schema. */
export type Process = (digest: RequestDigest) => PromiseLike<Result | null> | Result | null;

export interface PlainPostOptions {
  process: () => Process | undefined;
  bodyBytes: number;
  refuse: Refuse;
  log: (error: unknown) => void;
}

export function answerPlainPosts({ process, bodyBytes, refuse, log }: PlainPostOptions): Step {
  const fail = failInFront(refuse, log);
  const answer = async (run: Process, req: IncomingMessage, res: ServerResponse): Promise<void> => {
    try {
      const result = await run(digestOf(req, res));
      if (result?.type === "error") throw result.error;
      if (result?.type !== "buffer") throw new Error(`grafserv has made ${result?.type}`);
      const { statusCode, headers, buffer } = result;
      // Node writes a list as it is.
      res.writeHead(statusCode, [...FIXED_HEADERS, ...Object.entries(headers).flat()]);
      res.end(buffer);
    } catch (error) {
      fail(error, req, res);
    }
  };
  return (next) => (req, res) => {
    const isPlain =
      req.method === "POST" && req.url?.includes("?") === false && isShortJson(req, bodyBytes);
    const run = isPlain ? process() : undefined;
    if (run === undefined) {
      next(req, res);
      return;
    }
    const state = stateOf(req);
    state.route = GRAPHQL_PATH;
    const begin = (body: Buffer): void => {
      state.body = body;
      void answer(run, req, res);
    };
    // The cache may have read it.
    if (state.body === undefined) readBody(req, begin);
    else begin(state.body);
  };
}

/** As a POST: the body is that of the state, which a GET has too. */
export const digestOf = (req: IncomingMessage, res: ServerResponse): RequestDigest => ({
  httpVersionMajor: req.httpVersionMajor,
  httpVersionMinor: req.httpVersionMinor,
  isSecure: false,
  method: "POST",
  path: GRAPHQL_PATH,
  headers: { ...(req.headers as Record<string, string>), "content-type": "application/json" },
  getQueryParams: () => ({}),
  // The limit on operations in flight parses it in its turn.
  getBody: () => ({ type: "json", json: (req as { body?: string }).body ?? null }),
  requestContext: { node: { req, res } },
});
