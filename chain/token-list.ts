// Reads the file of tokens that make markets: JSON by the Token Lists standard, or CSV as tokens.csv.
import { readFile } from "node:fs/promises";
import { formats } from "../db/load/csv-columns.ts";
import { LoadError } from "../db/load/load-error.ts";
import { readRows } from "../db/load/read-rows.ts";
import { NotAccepted } from "../db/load/values.ts";
import { shownText } from "./ask-tokens.ts";

/** The database refuses others when a token is registered, which is later. */
const SHOWN =
  "a text without control characters, line ends and direction marks, and no blank around it";

export interface ListedToken {
  /** Undefined for the chain that is indexed. */
  chainId?: number | undefined;
  /** With its checksum. */
  address: string;
  symbol: string;
  name: string | undefined;
  decimals: number;
}

export interface TokenList {
  path: string;
  tokens: ListedToken[];
  /** Symbols or addresses of the tokens that are quotes, the first one before all others. */
  quotes: readonly string[];
}

/** Undefined without a file. Throws a LoadError that names the file and the place in it. */
export async function readTokenList(
  path: string | undefined,
  quotes: readonly string[],
): Promise<TokenList | undefined> {
  if (path === undefined) return undefined;
  const tokens = path.endsWith(".csv") ? await readTokens(path) : await readStandard(path);
  const known = new Set<string>();
  for (const { chainId, address } of tokens) {
    const key = `${chainId} ${address}`;
    if (known.has(key)) throw new LoadError(`${path}: the token ${address} is listed twice`);
    known.add(key);
  }
  return { path, tokens, quotes };
}

async function readTokens(path: string): Promise<ListedToken[]> {
  const tokens: ListedToken[] = [];
  for await (const { line, symbol, name, ...token } of readRows(path, path, formats.tokens)) {
    if (symbol === undefined) throw new LoadError(`${path} line ${line}: a symbol is needed`);
    for (const [column, text] of Object.entries({ symbol, name })) {
      if (text === undefined || shownText(text, Infinity) !== null) continue;
      throw new LoadError(
        `${path} line ${line}, column ${column}: ${JSON.stringify(text)} is not accepted; expected ${SHOWN}`,
      );
    }
    tokens.push({ ...token, symbol, name });
  }
  return tokens;
}

async function readStandard(path: string): Promise<ListedToken[]> {
  const { tokens } = await parsed(path);
  if (!Array.isArray(tokens)) {
    throw new LoadError(
      `${path} is no token list: "tokens" must be an array of tokens, each with chainId, address, symbol and decimals. A CSV file is named *.csv`,
    );
  }
  const { address, symbol, name } = formats.tokens.columns;
  return tokens.map((token: unknown, n) => {
    const given = Object(token) as Record<string, unknown>;
    const text = (column: string, { read }: { read: (text: string) => unknown }): string => {
      const value = given[column];
      if (typeof value !== "string" || value === "") {
        throw refusal(path, n, column, value, "a text");
      }
      if (shownText(value, Infinity) === null) {
        throw refusal(path, n, column, value, SHOWN);
      }
      try {
        return String(read(value));
      } catch (error) {
        if (!(error instanceof NotAccepted)) throw error;
        throw refusal(path, n, column, value, error.message);
      }
    };
    const integer = (column: string, min: number, max: number): number => {
      const value = Number.isSafeInteger(given[column]) ? Number(given[column]) : Number.NaN;
      if (value >= min && value <= max) return value;
      throw refusal(path, n, column, given[column], `an integer from ${min} to ${max}`);
    };
    return {
      chainId: integer("chainId", 1, Number.MAX_SAFE_INTEGER),
      address: text("address", address),
      symbol: text("symbol", symbol),
      name: given["name"] === undefined ? undefined : text("name", name),
      decimals: integer("decimals", 0, 255),
    };
  });
}

async function parsed(path: string): Promise<Record<string, unknown>> {
  try {
    return Object(JSON.parse(await readFile(path, "utf8"))) as Record<string, unknown>;
  } catch (error) {
    throw new LoadError(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
}

const refusal = (path: string, n: number, column: string, value: unknown, accepted: string) =>
  new LoadError(
    `${path}, tokens[${n}].${column} is ${value === undefined ? "missing" : JSON.stringify(value)}: it must be ${accepted}`,
  );
