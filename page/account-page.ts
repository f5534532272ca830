// The page of an account: which one an address names, from where on, and what is read for it.
import { checksumAddress, spellingsOf } from "../db/load/checksum.ts";
import type { Pool } from "../db/connect.ts";
import { BadParameter } from "../http/errors.ts";
import {
  findAccountOffers,
  findAccountTrades,
  type DealtTrade,
  type OfferPage,
  type OfferPlace,
} from "../market/queries/deals.ts";
import { inSnapshot, type Moment } from "../market/queries/snapshot.ts";

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const ADDRESS_ACCEPTED = "0x and 40 hexadecimal digits";

const MAX_INTEGER = 2_147_483_647;
/** So many trades or offers of each list. */
export const PAGE = 50;

/** Behind every offer. */
const NEWEST: OfferPlace = { block: MAX_INTEGER, id: MAX_INTEGER };

/** Which pages of its lists are asked for; undefined for the first. */
export interface AccountPages {
  /** The trades with a smaller id. */
  trades?: number;
  /** The offers before this one, by block and id. */
  open?: OfferPlace;
  past?: OfferPlace;
}

export interface ShownAccount extends Moment {
  /** With its checksum. */
  address: string;
  /** In each letter case in which it may be recorded. */
  spellings: readonly string[];
  pages: AccountPages;
  trades: DealtTrade[];
  /** The older trades have smaller ids; undefined where there is none. */
  olderTrades: number | undefined;
  open: OfferPage;
  past: OfferPage;
}

function readTrade(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw new BadParameter("trades", "the id of a trade");
  return id;
}

function readPlace(name: string, text: string): OfferPlace {
  const [, block, id] = /^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})$/.exec(text) ?? [];
  const place = { block: Number(block), id: Number(id) };
  if (Object.values(place).every((number) => number <= MAX_INTEGER)) return place;
  throw new BadParameter(name, "the block and the id of an offer, such as 20511.73");
}

/** Of the query string. Throws BadParameter. */
export function accountPagesIn(url: string): AccountPages {
  const given = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1] ?? "");
  const [trades, open, past] = ["trades", "open", "past"].map((name) => {
    const [text, second] = given.getAll(name);
    if (second !== undefined) throw new BadParameter(name, "given once");
    return text;
  });
  return {
    ...(trades !== undefined && { trades: readTrade(trades) }),
    ...(open !== undefined && { open: readPlace("open", open) }),
    ...(past !== undefined && { past: readPlace("past", past) }),
  };
}

/** Throws BadParameter for what is no address. */
export async function findAccount(pool: Pool, given: string, url: string): Promise<ShownAccount> {
  if (!ADDRESS.test(given)) throw new BadParameter("The address", ADDRESS_ACCEPTED);
  const pages = accountPagesIn(url);
  const address = checksumAddress(given);
  const spellings = spellingsOf(given);
  const limit = PAGE;
  const [found, open, past] = await inSnapshot(pool, (db) =>
    Promise.all([
      // One more shows whether there are older ones.
      findAccountTrades(db, {
        ...{ spellings, limit: limit + 1 },
        before: pages.trades ?? Number.MAX_SAFE_INTEGER,
      }),
      findAccountOffers(db, { spellings, open: true, before: pages.open ?? NEWEST, limit }),
      findAccountOffers(db, { spellings, open: false, before: pages.past ?? NEWEST, limit }),
    ]),
  );
  const trades = found.rows.slice(0, PAGE);
  return {
    ...{ time: found.time, block: found.block },
    ...{ address, spellings, pages, trades, open, past },
    olderTrades: found.rows.length > PAGE ? Number(trades.at(-1)?.key) : undefined,
  };
}
