// Blocks with all their facts, and the registered tokens and pairs, page by page: what another database needs to have the
// same.
import type { Database } from "../../db/connect.ts";
import { asAddress, asDecimal, asOrder, asTime, madeOrder } from "../../db/export/format.ts";
import { PAGE_ROWS, PAGE_TOKENS } from "../../db/mirror/block-page.ts";
import type { BlockPage, RegistrationPage } from "../../db/mirror/block-page.ts";
import { NoBlockYet } from "../absent.ts";
import type { KeyedRow } from "../records.ts";
import { SELECT_BASIS } from "./head.ts";
import { FROM_AS_OF, readSnapshot, SELECT_MOMENT, type Snapshot } from "./snapshot.ts";

interface Asked {
  from: number;
  limit: number;
}

type PageRow = KeyedRow & Omit<BlockPage, "next"> & { next: number | null };

const placeOf = (block: string): string =>
  `json_build_object('number', ${block}.number, 'hash', ${block}.hash, 'digest', dex_block_digest(${block}))`;

const swapOf = (row: string): string => `
                'maker', ${asAddress(`${row}.maker`)},
                'pair', ${row}.pair,
                'lotGem', ${asAddress(`${row}.lot_gem`)},
                'lotAmt', ${asDecimal(`${row}.lot_amt`)},
                'bidGem', ${asAddress(`${row}.bid_gem`)},
                'bidAmt', ${asDecimal(`${row}.bid_amt`)},
                'tx', ${row}.tx,
                'venue', ${asAddress(`${row}.venue`)}`;

/**
 * The recorded blocks from `from` on, as many as have PAGE_ROWS rows together, and at least one. What a row has is
 * bounded, so a page is too.
 */
export const findBlockFacts = (
  db: Database,
  _pair: undefined,
  { from, limit }: Asked,
  finality?: number,
): Promise<Snapshot<PageRow>> =>
  readSnapshot(db, {
    name: "rest_block_facts",
    text: `
      ${SELECT_MOMENT},
        head.number::text as key,
        ${SELECT_BASIS} as basis,
        (
          select ${placeOf("earlier")}
          from dex_block as earlier
          where earlier.number < $1
            and earlier.number <= head.number
          order by earlier.number desc
          limit 1
        ) as before,
        ${placeOf("head")} as head,
        (
          select least(final.number, head.number)
          from dex_private.final_block($3) as final
        ) as final,
        page.blocks,
        case when page.last < head.number then page.last + 1 end as next
      ${FROM_AS_OF}
      left join dex_block as head on head.number = as_of.block
      cross join lateral (
        select
          max(block.number) as last,
          coalesce(
            json_agg(
              json_build_object(
                'number', block.number,
                'hash', block.hash,
                'parent', block.parent,
                'time', ${asTime("block.time")},
                'digest', dex_block_digest(block.recorded),
                'offers', coalesce(
                  (
                    select json_agg(json_build_object('offer', ${madeOrder("offer")},${swapOf("offer")}, 'closed', offer.closed) order by offer.id)
                    from dex_offer as offer
                    where offer.block = block.number
                  ),
                  '[]'
                ),
                'trades', coalesce(
                  (
                    select json_agg(json_build_object('idx', trade.idx, 'offer', ${asOrder("trade.offer_id")}, 'taker', ${asAddress("trade.taker")},${swapOf("trade")}) order by trade.id)
                    from dex_trade as trade
                    where trade.id between block.first_trade and block.last_trade
                  ),
                  '[]'
                ),
                'cancelled', coalesce(
                  (
                    select json_agg(${asOrder("cancellation.offer_id")} order by cancellation.offer_id)
                    from dex_private.cancellation
                    where cancellation.block = block.number
                  ),
                  '[]'
                ),
                'pools', coalesce(
                  (
                    select json_agg(
                      json_build_object(
                        'venue', ${asAddress("pool.venue")},
                        'gem0', ${asAddress("pool.gem0")},
                        'reserve0', ${asDecimal("state.reserve0")},
                        'gem1', ${asAddress("pool.gem1")},
                        'reserve1', ${asDecimal("state.reserve1")},
                        'fee', pool.fee,
                        'tickSpacing', pool.tick_spacing,
                        'sqrtPrice', state.sqrt_price::text,
                        'tick', state.tick,
                        'liquidity', state.liquidity::text,
                        'nets', state.nets
                      )
                      order by ${asAddress("pool.venue")}
                    )
                    from dex_pool_state as state
                    join dex_pool as pool on pool.venue = state.venue
                    where state.block = block.number
                  ),
                  '[]'
                )
              )
              order by block.number
            ),
            '[]'
          ) as blocks
        from (
          select
            counted.*,
            sum(counted.rows) over (order by counted.number) - counted.rows as rows_before
          from (
            select
              recorded.*,
              recorded,
              dex_private.first_trade_of(recorded.number + 1) - 1 as last_trade,
              (
                select count(*)
                from dex_trade as trade
                where trade.id between recorded.first_trade and dex_private.first_trade_of(recorded.number + 1) - 1
              ) + (
                select count(*)
                from dex_offer as offer
                where offer.block = recorded.number
              ) + (
                select count(*)
                from dex_private.cancellation
                where cancellation.block = recorded.number
              ) + (
                select count(*)
                from dex_pool_state as state
                where state.block = recorded.number
              ) as rows
            from dex_block as recorded
            where recorded.number >= $1
              and recorded.number <= head.number
            order by recorded.number
            limit $2
          ) as counted
        ) as block
        where block.rows_before = 0
          or block.rows_before + block.rows <= ${PAGE_ROWS}
      ) as page`,
    values: [from, limit, finality ?? null],
  });

/** Throws NoBlockYet where none was ever written. */
export function onlyPage([row]: PageRow[]): BlockPage {
  if (row === undefined) throw new NoBlockYet();
  const { key: _key, ...page } = row;
  return page;
}

type RegistrationRow = KeyedRow & RegistrationPage;

/** The tokens with an address after this one. */
export const findRegistrations = (
  db: Database,
  _pair: undefined,
  { after }: { after: string | undefined },
): Promise<Snapshot<RegistrationRow>> =>
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
                order by ${asAddress("pair.base_gem")}, ${asAddress("pair.quote_gem")}
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

export function pageOfRegistrations([row]: RegistrationRow[]): RegistrationPage {
  const { tokens = [], pairs = [], next = null } = row ?? {};
  return { tokens, pairs, next };
}
