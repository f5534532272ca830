// The kinds of parameters of query strings, and what each accepts.
import { z } from "zod";

/** A parameter of the query string, or of the path. */
export interface Parameter<Value> {
  description: string;
  /** The end of the message that refuses other values: "must be …". */
  accepted: string;
  /** Parses its text; undefined where it is not given. */
  schema: z.ZodType<Value, string | undefined>;
  example: string;
  /** In a parameter that names a market or a token, a value that names none: /ready reads that. */
  none?: Value;
  required?: true;
}

/** By name, in the order in which they are checked. */
export type Parameters<Query> = { [Name in keyof Query]: Parameter<Query[Name]> };

// No trade has a greater id: JSON carries no greater integer safely.
const MAX_ID = Number.MAX_SAFE_INTEGER;

const MAX_BLOCK = 2_147_483_647;

/** In digits only: Number() alone would take `0x10`, `1e3` and a space. */
export const integerIn = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]*)$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max));

export const integerAccepted = (min: number, max: number): string =>
  `an integer from ${min} to ${max}, given once and in digits only, without a leading zero`;

export const limitUpTo = (
  max: number,
  initial: number,
  description: string,
): Parameter<number> => ({
  description,
  accepted: integerAccepted(1, max),
  schema: integerIn(1, max).default(initial),
  example: "2",
});

export const tradeId = (description: string): Parameter<number | undefined> => ({
  description,
  accepted: integerAccepted(1, MAX_ID),
  schema: integerIn(1, MAX_ID).optional(),
  example: "40",
});

export const blockNumber = (description: string): Parameter<number> => ({
  description,
  accepted: integerAccepted(0, MAX_BLOCK),
  schema: integerIn(0, MAX_BLOCK),
  example: "20511",
});

export const addressOf = (description: string): Parameter<string | undefined> => ({
  description,
  accepted: "an address: 0x and 40 hexadecimal digits, given once",
  schema: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .optional(),
  example: "0x6b175474e89094c44da98b954eedeac495271d0f",
});

export const oneOf = <Word extends string>(
  words: readonly [Word, ...Word[]],
  description: string,
  initial: Word = words[0],
): Parameter<Word> => ({
  description,
  accepted: `one of ${words.join(", ")}, given once`,
  schema: z.enum(words).default(() => initial),
  example: initial,
});

/** zod's, which knows the calendar, with milliseconds at most: one pattern, which generators of clients read. */
const MOMENT = new RegExp(z.regexes.datetime({}).source.replace("\\.\\d+", "\\.\\d{1,3}"));

export const momentInUtc = (description: string): Parameter<string | undefined> => ({
  description,
  accepted:
    "a time from 1970 on in ISO 8601 UTC, with seconds and at most milliseconds, such as 2026-01-31T12:00:00Z, given once",
  // The pattern checks the calendar; Date takes 30 February for a day in March.
  schema: z
    .string()
    .regex(MOMENT)
    .refine((text) => Date.parse(text) >= 0)
    .optional(),
  example: "2026-01-31T12:00:00Z",
});

interface AsOfAsked {
  block: number | undefined;
  time: string | undefined;
  hash: string | undefined;
}

const ONE = "Instead of the head, with at most one of `block`, `time` and `hash`:";

/** Which past block a request asks for: parameters of every endpoint. */
export const AS_OF: Parameters<AsOfAsked> = {
  block: {
    description: `${ONE} the last recorded block at or below this number.`,
    accepted: integerAccepted(0, MAX_BLOCK),
    schema: integerIn(0, MAX_BLOCK).optional(),
    example: "20511",
  },
  time: momentInUtc(`${ONE} the last block at or before this time.`),
  hash: {
    description: `${ONE} the block of this hash.`,
    accepted: "the hash of a block: 0x and 64 hexadecimal digits, given once",
    schema: z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/)
      .optional(),
    example: "0x8f3c1f0e0e1d5b0f6c8c2f3a9d7b6e5a4c3b2a19087f6e5d4c3b2a1908f7e6d5",
  },
};
