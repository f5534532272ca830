// Reads the files of the settings PAIRS and TOKEN_LIST.
import { formats } from "../db/load/csv-columns.ts";
import { LoadError } from "../db/load/load-error.ts";
import { readRows } from "../db/load/read-rows.ts";
import { indexVariables, type IndexSettings } from "./index-settings.ts";
import { readTokenList, type TokenList } from "./token-list.ts";

/** A market of a file in the format of pairs.csv, for exchanges that list none themselves. */
export interface GivenMarket {
  /** Symbols, as the file has them. */
  base: string;
  quote: string;
  baseGem: string;
  quoteGem: string;
  active: boolean;
}

/**
 * None without a file. Throws a LoadError that names file and line. Here symbols select no token: both addresses must be
 * given.
 */
async function readGivenMarkets(path: string | undefined): Promise<GivenMarket[]> {
  if (path === undefined) return [];
  const markets: GivenMarket[] = [];
  for await (const row of readRows(path, path, formats.pairs)) {
    const { line, base, quote, base_gem: baseGem, quote_gem: quoteGem, active = true } = row;
    if (baseGem === undefined || quoteGem === undefined) {
      throw new LoadError(
        `${path} line ${line}: base_gem and quote_gem are needed, the addresses of ${base} and ${quote}`,
      );
    }
    markets.push({ base, quote, baseGem, quoteGem, active });
  }
  return markets;
}

export interface MarketFiles {
  markets: GivenMarket[];
  tokenList: TokenList | undefined;
}

/** Throws a LoadError that names the setting, by `nameOf`, and what is accepted. */
export async function readMarketFiles(
  { pairsFile, tokenListFile, quotes }: IndexSettings,
  nameOf: (variable: string) => string = (variable) => variable,
): Promise<MarketFiles> {
  const refuse = (variable: "PAIRS" | "TOKEN_LIST") => (error: unknown) => {
    if (!(error instanceof LoadError)) throw error;
    const { description = "" } = indexVariables[variable];
    throw new LoadError(`${nameOf(variable)}: ${error.message}. Accepted is ${description}.`);
  };
  return {
    markets: await readGivenMarkets(pairsFile).catch(refuse("PAIRS")),
    tokenList: await readTokenList(tokenListFile, quotes).catch(refuse("TOKEN_LIST")),
  };
}
