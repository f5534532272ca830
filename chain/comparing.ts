// Compares the rows of a range of blocks with what the chain has there.
import { connect, type Client } from "../db/connect.ts";
import { rowsOf } from "./block-rows.ts";
import { readingOf } from "./chain-reading.ts";
import type { BlockFact } from "./exchange-facts.ts";
import { EXIT, Halt } from "./halt.ts";
import type { IndexerOptions } from "./indexer-options.ts";
import { withMakers } from "./offer-refs.ts";
import { withRanges } from "./pool-states.ts";
import type { Registry } from "./index-registry.ts";
import { contractsMade } from "./missing-contracts.ts";
import { readRanges } from "./ranges.ts";
import type { Range } from "./source.ts";
import { withUpdates } from "./updates.ts";

/** Rows by their names: `offer 7`. */
type Named = Map<string, Record<string, unknown>>;

/** A row that the database lacks, has beside the chain's, or has otherwise. */
export interface Difference {
  block: number;
  text: string;
}

/** The differences of a range whose tokens are known. */
export async function differencesOf(
  client: Client,
  range: Range<BlockFact>,
  registry: Registry,
): Promise<Difference[]> {
  const updated = await withUpdates(client, range.facts, range.from - 1);
  const made = await withMakers(client, updated);
  const facts = await withRanges(client, made, registry.decimalsOf, range.from - 1);
  const chain = namedRows({ ...range, facts: [...facts] }, registry);
  return [...differences(chain, await recordedRows(client, range.from, range.end.number))];
}

/**
 * A line for each row that the database lacks, has beside the chain's, or has otherwise. Writes nothing. Throws a `Halt`
 * where the chain does not reach the last block.
 */
export async function* verifyRange(
  options: IndexerOptions,
  from: number,
  to: number,
): AsyncGenerator<string> {
  const { source, registry, known } = readingOf(options);
  const { fromBlock } = options;
  await using client = await connect(options.databaseUrl, {
    role: "dex_writer",
    applicationName: "dex-market-data index --verify",
  });
  await registry.load(client);
  await known.load(client);
  const { rows } = await client.query(
    "select from dex_private.index_source as source where not source.lacks_contracts",
  );
  const latest = (await source.latest()).number;
  if (to > latest) {
    throw new Halt(`Block ${to} is not on the chain yet: its head is block ${latest}.`, EXIT.usage);
  }
  const lacksContracts = rows.length === 0;
  if (lacksContracts) {
    for await (const found of contractsMade(source, fromBlock, from - 1)) known.written(found);
  }
  for await (const read of readRanges(source, { from, to })) {
    const range = lacksContracts ? { ...read, found: [] } : read;
    await registry.learn(range.facts, { number: latest, hash: null });
    for (const { text } of await differencesOf(client, range, registry)) yield text;
  }
}

function namedRows({ facts, found, end }: Range, registry: Registry): Named {
  const rows = rowsOf(facts, registry.decimalsOf);
  const named: Named = new Map();
  for (const { id, ref, ...offer } of rows.offers) {
    named.set(offerName(id, ref, offer.venue), offer);
  }
  for (const { offer_id = null, ref, ...trade } of rows.trades) {
    named.set(`trade ${trade.tx}, idx ${trade.idx}`, { ...trade, offer_id: ref ?? offer_id });
  }
  for (const { offerId, ref, venue, block } of rows.cancellations) {
    named.set(`cancellation of ${offerName(offerId, ref, venue)}`, { block });
  }
  for (const { venue, ...pool } of rows.pools) {
    named.set(`state of ${venue.toLowerCase()} after block ${pool.block}`, pool);
  }
  for (const { address, answers, ...contract } of found) {
    named.set(`contract ${address}`, { ...contract, ...answers });
  }
  const blocks = [...facts.filter(({ kind }) => kind !== "market"), { block: end.number, ...end }];
  for (const { block, hash } of blocks) named.set(`block ${block}`, { hash, block });
  return named;
}

const offerName = (id: number, ref: string | undefined, venue: string | undefined): string =>
  ref === undefined ? `offer ${id}` : `offer ${ref} of ${venue?.toLowerCase()}`;

const MATCH = `
  'maker', maker,
  'lot_gem', lot_gem,
  'lot_amt', trim_scale(lot_amt)::text,
  'bid_gem', bid_gem,
  'bid_amt', trim_scale(bid_amt)::text,
  'block', block,
  'time', to_char(time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'tx', tx,
  'venue', venue`;

/** Where the contract's own id of an offer is. */
const REF_OF = "from dex_private.offer_ref as known where known.offer_id =";

async function recordedRows(client: Client, from: number, to: number): Promise<Named> {
  const { rows } = await client.query<{ name: string; row: Record<string, unknown> }>(
    `select 'offer ' || coalesce(ref || ' of ' || lower(venue), id::text) as name, json_build_object(${MATCH}) as row
    from dex_offer
    where block between $1 and $2
    union all
    select
      'trade ' || tx || ', idx ' || idx,
      json_build_object(
        'offer_id', coalesce((select to_json(ref) ${REF_OF} dex_trade.offer_id), to_json(offer_id)), 'taker', taker, 'idx', idx, ${MATCH}
      )
    from dex_trade
    where block between $1 and $2
    union all
    select
      'cancellation of offer ' || coalesce((select ref || ' of ' || venue ${REF_OF} cancellation.offer_id), offer_id::text),
      json_build_object('block', block)
    from dex_private.cancellation
    where block between $1 and $2
    union all
    select
      'state of ' || lower(venue) || ' after block ' || state.block,
      json_build_object(
        'block', state.block,
        'time', to_char(block.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'gem0', pool.gem0,
        'reserve0', trim_scale(state.reserve0)::text,
        'gem1', pool.gem1,
        'reserve1', trim_scale(state.reserve1)::text,
        'fee', pool.fee,
        'tick_spacing', pool.tick_spacing,
        'sqrt_price', state.sqrt_price::text,
        'tick', state.tick,
        'liquidity', state.liquidity::text,
        'nets', state.nets
      )
    from dex_pool_state as state
    join dex_pool as pool using (venue)
    join dex_block as block on block.number = state.block
    where state.block between $1 and $2
    union all
    select
      'contract ' || address,
      (jsonb_build_object('kind', kind, 'block', block, 'factory', factory, 'number', number) || answers)::json
    from dex_private.index_contract
    where block between $1 and $2
      and kind <> 'token'
    union all
    select 'block ' || number, json_build_object('hash', hash, 'block', number)
    from dex_block
    where number between $1 and $2`,
    [from, to],
  );
  return new Map(rows.map(({ name, row }) => [name, row]));
}

function* differences(chain: Named, recorded: Named): Generator<Difference> {
  for (const [name, row] of chain) {
    const kept = recorded.get(name);
    if (kept === undefined) {
      // Of blocks without rows, the database keeps the last 1,000.
      if (name.startsWith("block")) continue;
      yield { block: blockOf(row), text: `${name}: the database lacks it: ${JSON.stringify(row)}` };
      continue;
    }
    for (const [column, value] of Object.entries(row)) {
      if (kept[column] === value) continue;
      yield {
        block: Math.min(blockOf(row), blockOf(kept)),
        text: `${name}, ${column}: ${JSON.stringify(kept[column])} in the database, ${JSON.stringify(value)} on the chain`,
      };
    }
  }
  for (const [name, row] of recorded) {
    if (chain.has(name) || name.startsWith("block")) continue;
    yield {
      block: blockOf(row),
      text: `${name}: the chain does not have it: ${JSON.stringify(row)}`,
    };
  }
}

const blockOf = ({ block }: Record<string, unknown>): number => Number(block);
