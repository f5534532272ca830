// The tokens that make markets: their file, JSON by the Token Lists standard or CSV as tokens.csv, and which markets they make.
import { readFile } from "node:fs/promises";
import { formats } from "../db/load/csv-columns.ts";
import { LoadError } from "../db/load/load-error.ts";
import { readRows } from "../db/load/read-rows.ts";
import { NotAccepted } from "../db/load/values.ts";
import { shownText } from "./ask-tokens.ts";
import { marketsOf, type BlockFact, type MarketFact } from "./exchange-facts.ts";
import { EXIT, Halt } from "./halt.ts";

/** The database refuses others when a token is registered, which is later. */
const SHOWN =
  "a text without control characters, line ends and direction marks, and no blank around it";

interface ListedToken {
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

/** The markets that a list makes: which pairs, and which way round. */
export class ListedMarkets {
  /** By address. */
  readonly tokens: ReadonlyMap<string, ListedToken>;
  /** The place of each quote token: the lower one is quote. */
  readonly #ranks = new Map<string, number>();

  /** Throws a `Halt` where no token is of this chain, or a quote is not one of them. */
  constructor({ path, tokens, quotes }: TokenList, chainId: number) {
    const own = tokens.filter((token) => (token.chainId ?? chainId) === chainId);
    if (own.length === 0) {
      throw new Halt(`${path} (TOKEN_LIST) has no token of the chain ${chainId}.`, EXIT.usage);
    }
    this.tokens = new Map(own.map((token) => [token.address, token]));
    for (const [rank, quote] of quotes.entries()) {
      const name = quote.toUpperCase();
      const found = own.filter(({ address, symbol }) =>
        [address.toUpperCase(), symbol.toUpperCase()].includes(name),
      );
      const [token] = found;
      if (token === undefined || found.length > 1) {
        const addresses = found.map(({ address }) => address).join(", ");
        throw new Halt(
          `QUOTES: ${JSON.stringify(quote)} is ${token ? `the symbol of several tokens, give the address of one: ${addresses}` : `no symbol or address of a token of the chain ${chainId} in ${path} (TOKEN_LIST)`}.`,
          EXIT.usage,
        );
      }
      if (!this.#ranks.has(token.address)) this.#ranks.set(token.address, rank);
    }
  }

  has(address: string): boolean {
    return this.tokens.has(address);
  }

  /** The two tokens as base and quote: by rank, and where none has one, the higher address is quote. */
  turned(one: string, other: string): { base: string; quote: string } {
    const [first, second] = [one, other].map((token) => this.#ranks.get(token) ?? Infinity);
    const isQuote =
      first === second ? one.toLowerCase() > other.toLowerCase() : Number(first) < Number(second);
    return isQuote ? { base: other, quote: one } : { base: one, quote: other };
  }

  /** What the exchange lists of these tokens, and each pair of them with an offer, a trade or a pool. */
  of(facts: readonly BlockFact[]): MarketFact[] {
    const found = new Map<string, MarketFact>();
    for (const fact of facts) {
      if (!("lotGem" in fact) || fact.kind === "cancellation") continue;
      if (!this.has(fact.lotGem) || !this.has(fact.bidGem)) continue;
      const { block, hash, tx, idx } = fact;
      const pair = this.turned(fact.lotGem, fact.bidGem);
      const key = `${pair.base} ${pair.quote}`;
      if (found.has(key)) continue;
      found.set(key, {
        ...{ kind: "market", ...pair, active: true, isSeen: true },
        ...{ block, hash, tx, idx },
      });
    }
    const listed = marketsOf(facts).filter(({ base, quote }) => this.has(base) && this.has(quote));
    return [
      ...found.values(),
      ...listed.map((fact) => ({ ...fact, ...this.turned(fact.base, fact.quote) })),
    ];
  }
}
