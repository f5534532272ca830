// Reads a file of keys: a line for each, with its name, the key or its digest, and what it may.
import { hash } from "node:crypto";
import { INTEGER } from "../../db/integer-text.ts";

/** What the holder of a key may; undefined as any client. */
export interface ApiKey {
  name: string;
  /** SHA-256. */
  digest: Buffer;
  /** Requests a minute; 0 for any number. */
  rate?: number | undefined;
  /** Streams at once. */
  streams?: number | undefined;
  /** What a query of GraphQL may cost. */
  cost?: number | undefined;
}

/** The file is wrong. No message shows any of its text, which may be a key in a wrong place. */
export class WrongKeyFile extends Error {
  override readonly name = "WrongKeyFile";
}

/** The file is read at each change, while nothing else is done. */
const MAX_KEYS = 10_000;

/** Of the file: so many keys have less than half of it. */
export const MAX_KEY_BYTES = 8_000_000;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;
/** Of RFC 6750, and long enough not to be guessed. */
const KEY = /^[A-Za-z0-9._~+/-]{20,200}=*$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const BUDGETS = {
  rate: { min: 0, max: 1_000_000_000, of: "requests a minute, 0 for any number" },
  streams: { min: 1, max: 1_000_000, of: "streams" },
  cost: { min: 1, max: 1_000_000_000, of: "cost" },
};

type Budget = keyof typeof BUDGETS;

const isBudget = (word: string): word is Budget => Object.hasOwn(BUDGETS, word);

export const digestOf = (key: string): Buffer => hash("sha256", key, "buffer");

export function parseKeys(text: string): ApiKey[] {
  const keys: ApiKey[] = [];
  const lineOf = new Map<string, number>();
  const refuse = (line: number, problem: string): never => {
    throw new WrongKeyFile(`line ${line}: ${problem}`);
  };
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    // With the flag a comment has any character: else each `#` before one that a dot does not match looks for the end.
    const words = line.replace(/(^|\s)#.*$/s, "").split(/\s+/);
    const given = words.filter((word) => word !== "");
    if (given.length === 0) continue;
    const key = parseKey(given, (problem) => refuse(at + 1, problem));
    for (const [what, it] of [
      ["name", key.name],
      ["key", key.digest.toString("hex")],
    ] as const) {
      const before = lineOf.get(`${what} ${it}`);
      if (before !== undefined) refuse(at + 1, `its ${what} is that of line ${before} too`);
      lineOf.set(`${what} ${it}`, at + 1);
    }
    keys.push(key);
    if (keys.length > MAX_KEYS) refuse(at + 1, `at most ${MAX_KEYS} keys are accepted`);
  }
  return keys;
}

function parseKey(words: readonly string[], refuse: (problem: string) => never): ApiKey {
  const [name = "", key = "", ...budgets] = words;
  if (!NAME.test(name)) {
    refuse("the name must be 1 to 40 letters, digits, dots, underscores and hyphens");
  }
  if (!KEY.test(key) && !DIGEST.test(key)) {
    refuse(
      "behind the name must be a key of 20 to 200 of A-Z a-z 0-9 . _ ~ + / - = or sha256: and the SHA-256 of one in lower-case hex digits",
    );
  }
  const digest = DIGEST.test(key) ? Buffer.from(key.slice("sha256:".length), "hex") : digestOf(key);
  const read: ApiKey = { name, digest };
  for (const word of budgets) {
    const [, budget = "", value = ""] = /^([^=]*)=?(.*)$/.exec(word) ?? [];
    if (!isBudget(budget)) {
      refuse("behind the key must be rate=, streams= or cost=, each with an integer");
      continue;
    }
    if (read[budget] !== undefined) refuse(`${budget} must be given once`);
    const { min, max, of } = BUDGETS[budget];
    const amount = INTEGER.test(value) ? Number(value) : NaN;
    if (!(amount >= min && amount <= max)) {
      refuse(`${budget} must be an integer from ${min} to ${max}: ${of}`);
    }
    read[budget] = amount;
  }
  return read;
}
