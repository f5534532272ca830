// What a request of REST asks: its query string, and what of its URL decides the answer.
import { BadParameter } from "../http/errors.ts";
import type { AsOf } from "../market/queries/as-of.ts";
import { AS_OF, type Parameters } from "./params.ts";

/** The query string. Express's own parser accepts what must be refused. The `&` keeps a second `?`. */
export const queryOf = ({ url }: { url: string }): URLSearchParams =>
  new URLSearchParams(`&${/\?(.*)$/s.exec(url)?.[1] ?? ""}`);

/** By the name that follows a colon in Express's pattern; those that match segments are texts. */
export type ParametersInPath = Readonly<Record<string, unknown>>;

/** Whether Express's pattern names the parameter. */
export const isInPath = (path: string, name: string): boolean =>
  path.split("/").includes(`:${name}`);

/** Ignores other parameters. Returns a BadParameter, since an unknown pair is answered before it. */
export function readQuery<Query>(
  req: { url: string; params?: ParametersInPath },
  parameters: Parameters<Query>,
): Query | BadParameter {
  const given = req.url.includes("?") ? [...queryOf(req)] : [];
  const values: Partial<Query> = {};
  for (const name in parameters) {
    const { schema, accepted } = parameters[name];
    const inPath = req.params?.[name];
    const texts: [key: string, text: string][] =
      typeof inPath !== "string" ? given.filter(([key]) => isMeantAs(name, key)) : [[name, inPath]];
    const misspelt = misspeltIn(texts, name, accepted);
    if (misspelt !== undefined) return misspelt;
    const [first, second] = texts;
    const { success, data } = schema.safeParse(first?.[1]);
    if (!success || second !== undefined) return new BadParameter(name, accepted);
    values[name] = data;
  }
  return values as Query;
}

/**
 * Whether a client means the parameter by this key: in any letter case, behind a second `?` of the URL, and also
 * by `name[]=1` and `name[a]=1`, with which other frameworks give a parameter more than once.
 */
export function isMeantAs(name: string, given: string): boolean {
  const key = bare(given);
  return (
    key.length >= name.length &&
    key.slice(0, name.length).toLowerCase() === name.toLowerCase() &&
    (key.length === name.length || key[name.length] === "[")
  );
}

const bare = (key: string): string => (key.startsWith("?") ? key.replace(/^\?+/, "") : key);

/** The refusal of a key by which the parameter is meant, and which would be ignored as an unknown one. */
export function misspeltIn(
  given: Iterable<readonly [key: string, text: string]>,
  name: string,
  accepted: string,
): BadParameter | undefined {
  for (const [key] of given) {
    if (key === name || !isMeantAs(name, key)) continue;
    const isOne = bare(key).length === name.length;
    return isOne ? new BadParameter(key, `written ${name}`) : new BadParameter(name, accepted);
  }
  return undefined;
}

/** A name may be percent-encoded. It ends at the next `?` too, as a run of them would be looked through from each. */
const MAY_ASK = new RegExp(`[?&](?:${Object.keys(AS_OF).join("|")}|[^=&?]*%)`, "i");

/** Undefined where the request asks for the head. Costs that nearly nothing. */
export function readAsOf(req: { url: string }): AsOf | BadParameter | undefined {
  if (!MAY_ASK.test(req.url)) return undefined;
  const asked = readQuery(req, AS_OF);
  if (asked instanceof BadParameter) return asked;
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    return new BadParameter(given.map(([name]) => name).join(" and "), "given one at a time");
  }
  return given.length === 0 ? undefined : (Object.fromEntries(given) as unknown as AsOf);
}

/** Of a version, what decides the answer to a URL. */
interface VersionPaths {
  name: string;
  endpoints: readonly { path: string; query?: object }[];
}

/**
 * Undefined for paths outside these versions, and for one that no endpoint declares. Other parameters change no answer, and
 * so are left out.
 */
export function restQuestions(
  versions: readonly VersionPaths[],
): (req: { url?: string | undefined }) => string | undefined {
  const ofVersion = new RegExp(`^/(?:${versions.map(({ name }) => name).join("|")})/`);
  const declared = versions.flatMap(({ name, endpoints }) =>
    endpoints.map(({ path, query = {} }) => ({
      pattern: new RegExp(`^/${name}${path.replaceAll(/:\w+/g, "[^/]+")}/?$`),
      names: [
        ...Object.keys(query).filter((parameter) => !isInPath(path, parameter)),
        ...Object.keys(AS_OF),
      ],
    })),
  );
  return ({ url = "" }) => {
    if (!ofVersion.test(url)) return undefined;
    const end = url.indexOf("?");
    if (end < 0) return url;
    const path = url.slice(0, end);
    const names = declared.find(({ pattern }) => pattern.test(path))?.names;
    // Express may serve it all the same: before a `#` it takes a backslash for a slash.
    if (names === undefined) return undefined;
    const known = [...queryOf({ url })].filter(([key]) =>
      names.some((name) => isMeantAs(name, key)),
    );
    if (known.length === 0) return path;
    const query = new URLSearchParams(known);
    query.sort();
    return `${path}?${query.toString()}`;
  };
}
