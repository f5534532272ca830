// What a request's path and query string say, checked.
import type { Request } from "express";
import { BadParameter, UnknownPair } from "../server/errors.ts";

/** The symbols of a pair as the client wrote them, in any case. */
export interface PairName {
  base: string;
  quote: string;
}

/** Which trades of a pair are asked for. */
export interface Page {
  /** How many, at most. */
  limit: number;
  /** The newest trade's id, at most. */
  fromId: number;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
// The greatest integer that JSON carries safely; no trade has a greater id.
const MAX_ID = Number.MAX_SAFE_INTEGER;

/** The pair in the path. Throws UnknownPair for what PostgreSQL could not even be asked about. */
export function readPair(req: Request): PairName {
  const { base, quote } = req.params as { base: string; quote: string };
  // No text in PostgreSQL holds a NUL.
  if (`${base}${quote}`.includes("\0")) throw new UnknownPair();
  return { base, quote };
}

/**
 * The page asked for by `limit` and `fromId`; a BadParameter is given back, not thrown, since an
 * unknown pair is answered before it.
 */
export function readPage(req: Request): Page | BadParameter {
  // Read here and not by Express, whose parser forgives what must be refused.
  const [, query = ""] = /\?(.*)$/s.exec(req.url) ?? [];
  const given = [...new URLSearchParams(query)];
  const limit = readInteger(given, "limit", MAX_LIMIT) ?? DEFAULT_LIMIT;
  if (limit instanceof BadParameter) return limit;
  const fromId = readInteger(given, "fromId", MAX_ID) ?? MAX_ID;
  if (fromId instanceof BadParameter) return fromId;
  return { limit, fromId };
}

/** The parameter's value, from 1 to `max`; undefined where it is not given. */
function readInteger(
  query: [name: string, value: string][],
  name: string,
  max: number,
): number | BadParameter | undefined {
  // `name[]=1` and `name[a]=1` are ways of other frameworks to give it more than once.
  const given = query.filter(([key]) => key === name || key.startsWith(`${name}[`));
  const [first, second] = given;
  if (first === undefined) return undefined;
  const [key, value] = first;
  const integer = /^[1-9][0-9]*$/.test(value) ? Number(value) : Infinity;
  if (second !== undefined || key !== name || integer > max) return new BadParameter(name, max);
  return integer;
}
