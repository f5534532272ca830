// What a value of the environment may be: the kinds of settings, each with the words for what is accepted.
import proxyaddr from "proxy-addr";
import { z } from "zod";
import { INTEGER, integerText } from "../db/integer-text.ts";
import type { TrustedProxies } from "../http/request.ts";
import type { Explorer } from "../page/document.ts";

/** A number in plain digits, as an integer is. */
export const number = z
  .string()
  .regex(/^(0|[1-9]\d*)(\.\d+)?$/)
  .transform(Number);

/** An integer, the meaning of 0 in parentheses. */
export const integer = (initial: number, min: number, max: number, { of = "", zero = "" } = {}) =>
  integerText(min, max)
    .default(initial)
    .describe(`an integer${of && ` of ${of}`} from ${min}${zero && ` (${zero})`} to ${max}`);
export const milliseconds = (initial: number, min = 1) =>
  integer(initial, min, 3_600_000, { of: "milliseconds", zero: min === 0 ? "never" : "" });
export const atMost = (initial: number, min = 1, max = 1_000_000) => integer(initial, min, max);
export const named = (words: readonly string[]): string =>
  new Intl.ListFormat("en-GB", { type: "disjunction" }).format(words.map((word) => `\`${word}\``));

/** A number of proxies, or their addresses as proxy-addr takes them; undefined for anything else. */
export function trustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d+$/.test(text))
    return INTEGER.test(text) && Number(text) <= 10 ? Number(text) : undefined;
  const addresses = text.split(",").map((address) => address.trim());
  try {
    proxyaddr.compile(addresses);
    return addresses;
  } catch {
    return undefined;
  }
}

/** Without a slash at its end, since the paths of a document begin with one. */
export function publicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || /[?#]/.test(text)) return undefined;
  if (url.username !== "" || url.password !== "") return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Whether it is a URL, http or https, without a query. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? "") && !/[?#]/.test(text);

/** One URL with {tx}, one with {address}, or both, separated by a comma; undefined for anything else. */
export function explorerUrls(text: string): Explorer | undefined {
  const explorer: Explorer = {};
  for (const template of text.split(",").map((part) => part.trim())) {
    const [name, ...others] = [...template.matchAll(/\{([^}]*)\}/g)].map(([, found]) => found);
    const isKnown = (name === "tx" || name === "address") && others.length === 0;
    if (!isKnown || explorer[name] !== undefined) return undefined;
    const url = URL.parse(template);
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
    // What is put in must not choose the host.
    if (!/^[^{}]+$/.test(url.host)) return undefined;
    if (url.username !== "" || url.password !== "") return undefined;
    explorer[name] = template;
  }
  return explorer;
}

/** A shortened address is no symbol. */
export function isSymbolOrAddress(name: string): boolean {
  return /^0x/i.test(name) ? /^0x[0-9a-f]{40}$/.test(name) : name.length > 0 && name.length <= 100;
}

/** Symbols match in any case, and so do addresses. */
export function symbolsAndAddresses(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .map((name) => (/^0x[0-9a-f]{40}$/i.test(name) ? name.toLowerCase() : name.toUpperCase()));
}
