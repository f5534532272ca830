// Declares and checks the parameters of paths and query strings.
import type { Request } from "express";
import { z } from "zod";
import { BadParameter, UnknownPair } from "../server/http/errors.ts";

/** The name of a market in any case. */
export interface PairName {
  base: string;
  quote: string;
  /** What `base` and `quote` are: symbols, parts of BASE/QUOTE, or addresses. Default: symbols. */
  by?: "symbols" | "key" | "addresses";
}

/** A parameter of the query string. */
export interface Parameter<Value> {
  description: string;
  /** The end of the message that refuses other values: "must be …". */
  accepted: string;
  /** Parses its text; undefined where it is not given. */
  schema: z.ZodType<Value, string | undefined>;
  example: string;
  required?: true;
}

/** By name, in the order in which they are checked. */
export type Parameters<Query> = { [Name in keyof Query]: Parameter<Query[Name]> };

// No text in PostgreSQL holds a NUL.
const symbol = z
  .string()
  .min(1)
  .regex(/^[^\0]*$/);

export const pairInPath = {
  base: { description: "The base token's symbol, in any case.", schema: symbol, example: "weth" },
  quote: { description: "The quote token's symbol, in any case.", schema: symbol, example: "dai" },
};

// No trade has a greater id: JSON carries no greater integer safely.
const MAX_ID = Number.MAX_SAFE_INTEGER;

/** In digits only: Number() alone would take `0x10`, `1e3` and a space. */
export const integerIn = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]*)$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max));

const positiveInteger = (max: number) => integerIn(1, max);

export const integerAccepted = (min: number, max: number): string =>
  `an integer from ${min} to ${max}, given once and in digits only, without a leading zero`;

const integerUpTo = (max: number): string => integerAccepted(1, max);

export const limitUpTo = (max: number, usual: number, description: string): Parameter<number> => ({
  description,
  accepted: integerUpTo(max),
  schema: positiveInteger(max).default(usual),
  example: "2",
});

export const tradeId = (description: string): Parameter<number | undefined> => ({
  description,
  accepted: integerUpTo(MAX_ID),
  schema: positiveInteger(MAX_ID).optional(),
  example: "40",
});

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

export const momentInUtc = (description: string): Parameter<string | undefined> => ({
  description,
  accepted: "a time from 1970 on in ISO 8601 UTC such as 2026-01-31T12:00:00Z, given once",
  // zod checks the calendar; Date takes 30 February for a day in March.
  schema: z.iso
    .datetime()
    .regex(/:\d\d:\d\d(\.\d{1,3})?Z$/)
    .refine((text) => Date.parse(text) >= 0)
    .optional(),
  example: "2026-01-31T12:00:00Z",
});

/** Throws UnknownPair for a symbol that PostgreSQL does not take as a text. */
export function readPair(req: Request): PairName {
  const { base, quote } = req.params as { base: string; quote: string };
  if (!symbol.safeParse(base).success || !symbol.safeParse(quote).success) throw new UnknownPair();
  return { base, quote };
}

/** The query string. Express's own parser accepts what must be refused. */
export const queryOf = (req: Request): URLSearchParams =>
  new URLSearchParams(/\?(.*)$/s.exec(req.url)?.[1] ?? "");

/** Ignores other parameters. Returns a BadParameter, since an unknown pair is answered before it. */
export function readQuery<Query>(
  req: Request,
  parameters: Parameters<Query>,
): Query | BadParameter {
  const given = [...queryOf(req)];
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

/** With `name[]=1` and `name[a]=1` other frameworks give a parameter more than once. */
const isNamed = (key: string, name: string): boolean => key === name || key.startsWith(`${name}[`);
