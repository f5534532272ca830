// The registered tokens and pairs, page by page.
import type { Database } from "../../db/connect.ts";
import { asAddress } from "../../db/export/format.ts";
import { PAGE_TOKENS, type RegistrationPage } from "../../db/mirror/block-page.ts";
import type { KeyedRow } from "../records.ts";
import { FROM_AS_OF, readSnapshot, SELECT_MOMENT, type Snapshot } from "./snapshot.ts";

type PageRow = KeyedRow & RegistrationPage;

/** The tokens with an address after this one. */
export const findRegistrations = (
  db: Database,
  _pair: undefined,
  { after }: { after: string | undefined },
): Promise<Snapshot<PageRow>> =>
  readSnapshot(db, {
    name: "rest_registrations",
    text: `
      ${SELECT_MOMENT},
        'page' as key,
        page.*
      ${FROM_AS_OF}
      cross join (
        select
          coalesce(
            json_agg(
              json_build_object(
                'address', token.address,
                'symbol', token.symbol,
                'decimals', token.decimals,
                'name', token.name
              )
              order by token.address
            ),
            '[]'
          ) as tokens,
          coalesce(
            (
              select json_agg(
                json_build_object(
                  'baseGem', ${asAddress("pair.base_gem")},
                  'quoteGem', ${asAddress("pair.quote_gem")},
                  'active', pair.active
                )
                order by pair.base_gem, pair.quote_gem
              )
              from dex_pair as pair
              where pair.base_gem = any (array_agg(token.registered))
            ),
            '[]'
          ) as pairs,
          case when count(*) = ${PAGE_TOKENS} then max(token.address) end as next
        from (
          select
            lower(known.address) as address,
            known.address as registered,
            known.symbol,
            known.decimals,
            known.name
          from dex_token as known
          where lower(known.address) > lower($1)
          order by lower(known.address)
          limit ${PAGE_TOKENS}
        ) as token
      ) as page`,
    values: [after ?? ""],
  });

export function pageOfRegistrations([row]: PageRow[]): RegistrationPage {
  const { tokens = [], pairs = [], next = null } = row ?? {};
  return { tokens, pairs, next };
}
