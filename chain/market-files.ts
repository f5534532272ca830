// Reads the files of the settings PAIRS and TOKEN_LIST.
import { LoadError } from "../db/load/load-error.ts";
import { readGivenMarkets, type GivenMarket } from "./given-markets.ts";
import { indexVariables, type IndexSettings } from "./index-settings.ts";
import { readTokenList, type TokenList } from "./token-list.ts";

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
