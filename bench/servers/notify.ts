// What the writer sends to the plain PostGraphile's subscribers: the ids of a block's trades of one market.

/** The channel of a market. PostgreSQL allows 63 characters. */
export const channelOf = (market: string): string => `trades:${market}`;

/** Of a channel, a block and a market. No trigger sends it, so it belongs in the transaction of the block. */
export const NOTIFY = {
  name: "notify_trades",
  text: `
    select pg_notify($1, json_build_object('ids', json_agg(id order by id))::text)
    from dex_trade
    where block = $2 and market = $3
    having count(*) > 0
  `,
};
