// What decides the answer to a request of a page.
import Negotiator from "negotiator";
import type { IncomingMessage } from "node:http";
import { BadParameter } from "../http/errors.ts";
import type { AsOf } from "../market/queries/as-of.ts";
import { accountPagesIn } from "./account-page.ts";
import { intervalIn } from "./shown-market.ts";

/** Which past block a request asks for, as in REST; undefined for the head. */
export type ReadAsOf = (req: { url: string }) => AsOf | BadParameter | undefined;

/** The paths of the documents. */
const PAGE_PATHS = /^\/(?:$|\?|markets\/|accounts\/|trades(?:$|\?))/;

/**
 * What decides the answer to a GET of a document: of the query string, the block and what is read as of it. Undefined for
 * other paths, and where the block is none.
 */
export const pageQuestions =
  (readAsOf: ReadAsOf) =>
  (req: IncomingMessage): string | undefined => {
    const { url = "" } = req;
    if (!PAGE_PATHS.test(url)) return undefined;
    const path = url.replace(/\?.*$/s, "");
    const asOf = readAsOf({ url });
    if (asOf instanceof BadParameter) return undefined;
    // The other documents refuse a block.
    if (asOf !== undefined && !path.startsWith("/markets/")) return undefined;
    if (path.startsWith("/accounts/")) return accountQuestion(path, url);
    const past = asOf && `\n${intervalIn(url)}\n${JSON.stringify(asOf)}`;
    return `${path}\n${wantsPage(req)}${past ?? ""}`;
  };

/** Undefined where a page of its lists is none. */
function accountQuestion(path: string, url: string): string | undefined {
  try {
    return `${path}\n${JSON.stringify(accountPagesIn(url))}`;
  } catch {
    return undefined;
  }
}

/** A browser gets a page, a program JSON. */
export const wantsPage = (req: IncomingMessage): boolean =>
  new Negotiator(req).mediaType(["application/json", "text/html"]) === "text/html";
