// What a request's path and query string say, checked by what is declared of them here.
import type { Request } from "express";
import { z } from "zod";
import { BadParameter, UnknownPair } from "../server/http/errors.ts";

/** The symbols of a pair as the client wrote them, in any case. */
export interface PairName {
  base: string;
  quote: string;
}

/** A parameter of the query string. */
export interface Parameter<Value> {
  /** What it is for. */
  description: string;
  /** What it must be, in words: the end of the message that refuses anything else. */
  accepted: string;
  /** Makes the value of its text; of undefined, what it is without being given. */
  schema: z.ZodType<Value, string | undefined>;
  example: string;
}

/** The parameters of an endpoint by name, in the order in which they are checked. */
export type Parameters<Query> = { [Name in keyof Query]: Parameter<Query[Name]> };

// No text in PostgreSQL holds a NUL.
const symbol = z
  .string()
  .min(1)
  .regex(/^[^\0]*$/);

/** The parameters in the path of everything that is about one pair. */
export const pairInPath = {
  base: {
    description: "The base token's symbol, in any case.",
    schema: symbol,
    example: "weth",
  },
  quote: {
    description: "The quote token's symbol, in any case.",
    schema: symbol,
    example: "dai",
  },
};

// The greatest integer that JSON carries safely; no trade has a greater id.
const MAX_ID = Number.MAX_SAFE_INTEGER;

const positiveInteger = (max: number) =>
  z
    .string()
    .regex(/^[1-9][0-9]*$/)
    .transform(Number)
    .pipe(z.int().min(1).max(max));

const integerUpTo = (max: number): string =>
  `an integer from 1 to ${max}, given once and in digits only, without a leading zero`;

/** How many records, at most; so many where it is not given. */
export const limitUpTo = (max: number, usual: number, description: string): Parameter<number> => ({
  description,
  accepted: integerUpTo(max),
  schema: positiveInteger(max).default(usual),
  example: "2",
});

/** The id of a trade at which something begins; undefined where it is not given. */
export const tradeId = (description: string): Parameter<number | undefined> => ({
  description,
  accepted: integerUpTo(MAX_ID),
  schema: positiveInteger(MAX_ID).optional(),
  example: "40",
});

/** One of some words; the first of them where it is not given, unless another is said to be usual. */
export const oneOf = <Word extends string>(
  words: readonly [Word, ...Word[]],
  description: string,
  usual: Word = words[0],
): Parameter<Word> => ({
  description,
  accepted: `one of ${words.join(", ")}, given once`,
  schema: z.enum(words).default(() => usual),
  example: usual,
});

/** A moment; undefined where it is not given. */
export const momentInUtc = (description: string): Parameter<string | undefined> => ({
  description,
  accepted: "a time from 1970 on in ISO 8601 UTC such as 2026-01-31T12:00:00Z, given once",
  // By the calendar: JavaScript takes the 30th of February for one in March.
  schema: z.iso
    .datetime()
    .regex(/:\d\d:\d\d(\.\d{1,3})?Z$/)
    .refine((text) => Date.parse(text) >= 0)
    .optional(),
  example: "2026-01-31T12:00:00Z",
});

/** The pair in the path. Throws UnknownPair for what PostgreSQL could not even be asked about. */
export function readPair(req: Request): PairName {
  const { base, quote } = req.params as { base: string; quote: string };
  if (!symbol.safeParse(base).success || !symbol.safeParse(quote).success) throw new UnknownPair();
  return { base, quote };
}

/**
 * The values of the parameters; others are ignored. A BadParameter is given back, not thrown, since
 * an unknown pair is answered before it.
 */
export function readQuery<Query>(
  req: Request,
  parameters: Parameters<Query>,
): Query | BadParameter {
  // Read here and not by Express, whose parser forgives what must be refused.
  const [, query = ""] = /\?(.*)$/s.exec(req.url) ?? [];
  const given = [...new URLSearchParams(query)];
  const values: Partial<Query> = {};
  for (const name in parameters) {
    const { schema, accepted } = parameters[name];
    const texts = given.filter(([key]) => isNamed(key, name));
    const [[key, text] = [name, undefined], second] = texts;
    const { success, data } = schema.safeParse(text);
    if (!success || key !== name || second !== undefined) return new BadParameter(name, accepted);
    values[name] = data;
  }
  return values as Query;
}

/** `name[]=1` and `name[a]=1` are ways of other frameworks to give a parameter more than once. */
const isNamed = (key: string, name: string): boolean => key === name || key.startsWith(`${name}[`);
