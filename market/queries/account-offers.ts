// The offers of an account that are open, or that have ended.
import type { Database } from "../../db/connect.ts";
import { dealColumns, joinPair, type Deal } from "./deals.ts";
import { figureOrNull } from "./snapshot.ts";

/** So many of an account's offers are read for one page, open or not: no index has the open ones. */
export const LOOKED_THROUGH = 1000;

/** The place of an offer among those of its maker. */
export interface OfferPlace {
  block: number;
  id: number;
}

export interface AccountOffer extends Deal {
  id: number;
  /** What remains of the lot. */
  left: string | null;
  /** The block of its cancellation; 0 where there was none. */
  killed: number;
  /** The first block after which it was not open; null while it is. */
  ended: number | null;
}

export interface OfferPage {
  offers: AccountOffer[];
  /** The older ones are before it; undefined where there is none. */
  older: OfferPlace | undefined;
}

interface Asked {
  /** The address, in each letter case in which it may be recorded. */
  spellings: readonly string[];
  /** Whether they are open. */
  open: boolean;
  /** Only offers before it. */
  before: OfferPlace;
  limit: number;
}

interface Row extends AccountOffer {
  isAsked: boolean;
  place: string;
}

/** The newest first. */
export async function findAccountOffers(
  db: Database,
  { spellings, open, before, limit }: Asked,
): Promise<OfferPage> {
  const { rows } = await db.query<Row>({
    name: "page_account_offers",
    text: `
      select
        offer.id::text as key,
        offer.id,
        ${dealColumns("offer")},
        offer.killed,
        offer.ended,
        ${figureOrNull("kept.lot_amt", "left")},
        (found.ended is null) = $4 as "isAsked",
        found.place
      from (
        select
          newest.*,
          row_number() over (order by newest.block desc, newest.id desc) as place
        from unnest($1::text[]) as spelling (address)
        cross join lateral (
          select
            offer.id,
            offer.block,
            offer.ended
          from dex_offer as offer
          where offer.maker = any (array[spelling.address])
            and (offer.block, offer.id) < ($2, $3)
          order by
            offer.maker desc,
            offer.block desc,
            offer.id desc
          limit ${LOOKED_THROUGH}
        ) as newest
        order by place
        limit ${LOOKED_THROUGH}
      ) as found
      join dex_offer as offer on offer.id = found.id
      left join dex_private.offer_left as kept on kept.offer_id = offer.id
      ${joinPair("offer")}
      -- The last one says where the next page begins.
      where (found.ended is null) = $4
        or found.place = ${LOOKED_THROUGH}
      order by found.place
      limit $5`,
    values: [spellings, before.block, before.id, open, limit + 2],
  });
  const asked = rows.filter(({ isAsked }) => isAsked);
  const offers = asked.slice(0, limit);
  const last = asked.length > limit ? offers.at(-1) : rows.find(isLastOfAll);
  return { offers, older: last && { block: last.block, id: last.id } };
}

const isLastOfAll = ({ place }: Row): boolean => Number(place) === LOOKED_THROUGH;
