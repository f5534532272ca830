// A registered token, from dex_token.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import { FROM_AS_OF, readSnapshot, SELECT_MOMENT, type Snapshot } from "./snapshot.ts";

/** The key is the address. */
export interface TokenRow extends KeyedRow {
  symbol: string | null;
  name: string | null;
}

/** In any letter case. */
export const findToken = (db: Database, address: string): Promise<Snapshot<TokenRow>> =>
  readSnapshot(db, {
    name: "rest_token",
    text: `
      ${SELECT_MOMENT},
        token.address as key,
        token.symbol,
        token.name
      ${FROM_AS_OF}
      left join dex_token as token on lower(token.address) = lower($1)`,
    values: [address],
  });
