// Refuses a request by the length of its URL, before anything looks into it.
import type { RequestListener } from "node:http";
import { TooManyParameters, UrlTooLong } from "./errors.ts";
import type { Refuse } from "./refusal.ts";

// The longest symbols, each letter percent-encoded, and every parameter there is are far below.
const MAX_PATH = 1024;
const MAX_QUERY = 2048;
const MAX_PARAMETERS = 50;

/** Hands on what is not refused. */
export function boundUrls(next: RequestListener, refuse: Refuse): RequestListener {
  return (req, res) => {
    const { url = "" } = req;
    const queryAt = url.indexOf("?");
    if (queryAt < 0 && url.length <= MAX_PATH) {
      next(req, res);
      return;
    }
    const path = queryAt < 0 ? url.length : queryAt;
    if (path > MAX_PATH) {
      refuse(req, res, new UrlTooLong("path", MAX_PATH));
    } else if (url.length - path - 1 > MAX_QUERY) {
      refuse(req, res, new UrlTooLong("query string", MAX_QUERY));
    } else if (parametersOf(url, path) > MAX_PARAMETERS) {
      refuse(req, res, new TooManyParameters(MAX_PARAMETERS));
    } else {
      next(req, res);
    }
  };
}

function parametersOf(url: string, queryAt: number): number {
  let count = 1;
  for (let at = url.indexOf("&", queryAt); at >= 0; at = url.indexOf("&", at + 1)) count += 1;
  return count;
}
