// The markets of a file in the format of pairs.csv, for exchanges that list none themselves.
import { formats } from "../db/load/csv-columns.ts";
import { LoadError } from "../db/load/load-error.ts";
import { readRows } from "../db/load/read-rows.ts";

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
export async function readGivenMarkets(path: string | undefined): Promise<GivenMarket[]> {
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
