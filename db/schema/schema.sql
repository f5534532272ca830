-- The whole schema, in dependency order. For `psql -f`; the baseline migration is made of the same files.
\ir schemas.sql

\ir history/formats.sql
\ir history/dex_token.sql
\ir history/dex_pair.sql
\ir history/dex_block.sql
\ir history/either_way_key.sql
\ir history/sought.sql
\ir history/dex_offer.sql
\ir history/dex_trade.sql
\ir history/reorganisation.sql

\ir kept/write_state.sql
\ir published/dex_head.sql

\ir kept/arithmetic.sql
\ir kept/market_direction.sql
\ir kept/offer_end.sql
\ir kept/offer_left.sql
\ir kept/cancellation.sql
\ir kept/offer_ref.sql
\ir kept/digest.sql
\ir kept/standing_offer.sql
\ir kept/ended_offer.sql
\ir kept/best_price.sql
\ir kept/active_until.sql
\ir kept/period_figure.sql
\ir kept/running_sum.sql
\ir kept/figures_at.sql
\ir kept/market_figure.sql
\ir kept/keep_market_figures.sql
\ir kept/mislabelled.sql
\ir kept/misplaced.sql

\ir ingest/turn.sql
\ir ingest/refuse.sql
\ir ingest/refuse_rows.sql
\ir ingest/refuse_known.sql
\ir ingest/offer_ids.sql
\ir ingest/write_trades.sql
\ir ingest/write_offers.sql
\ir ingest/write_block.sql
\ir ingest/staging.sql
\ir ingest/refuse_staged.sql
\ir ingest/write_blocks.sql
\ir ingest/index_contract.sql
\ir ingest/index_source.sql
\ir ingest/take_back.sql
\ir ingest/register_token.sql
\ir ingest/register_pair.sql
\ir ingest/rebuild.sql
\ir ingest/fill_digests.sql

\ir published/applied_migration.sql
\ir published/final_block.sql
\ir published/rows_as_of.sql
\ir published/dex_block_at.sql
\ir published/head_figure.sql
\ir published/dex_market.sql
\ir published/dex_price.sql
\ir published/dex_volume.sql
\ir published/dex_summary.sql
\ir published/dex_book.sql
\ir published/dex_candles.sql
\ir published/dex_liquidity.sql
\ir published/dex_trade_price50.sql
