// Compares a range of blocks in the database with the chain, row by row.
import { connect, type Client } from "../db/connect.ts";
import { rowsOf } from "./block-rows.ts";
import { EXIT, Halt } from "./halt.ts";
import type { IndexerOptions } from "./indexer.ts";
import { readRanges } from "./ranges.ts";
import { Registry } from "./registry.ts";
import { Requests } from "./requests.ts";
import { withSenders } from "./senders.ts";
import { ChainSource, type Range } from "./source.ts";

/** Rows by their names: `offer 7`. */
type Named = Map<string, Record<string, unknown>>;

/**
 * A line for each row that the database lacks, has beside the chain's, or has otherwise. Writes nothing. Throws a `Halt`
 * where the chain does not reach the last block.
 */
export async function* verifyRange(
  options: IndexerOptions,
  from: number,
  to: number,
): AsyncGenerator<string> {
  const requests = new Requests({
    urls: options.rpcUrls,
    perSecond: options.requestsPerSecond,
    timeoutMs: options.requestTimeoutMs,
    signal: options.signal,
  });
  const source = new ChainSource({ ...options, requests });
  const registry = new Registry({
    requests,
    onLeftOut: (reason) => options.onEvent?.({ event: "leftOut", reason }),
  });
  const client = await connect(options.databaseUrl, {
    role: "dex_writer",
    applicationName: "dex-market-data index --verify",
  });
  try {
    await registry.load(client);
    const latest = (await source.latest()).number;
    if (to > latest) {
      throw new Halt(
        `Block ${to} is not on the chain yet: its head is block ${latest}.`,
        EXIT.usage,
      );
    }
    for await (const range of readRanges(source, { from, to })) {
      const facts =
        options.taker === "sender" ? await withSenders(range.facts, requests) : range.facts;
      await registry.learn(facts, latest);
      const chain = namedRows({ ...range, facts }, registry);
      const recorded = await recordedRows(client, range.from, range.end.number);
      yield* differences(chain, recorded);
    }
  } finally {
    await client.end();
  }
}

function namedRows({ facts, end }: Range, registry: Registry): Named {
  const rows = rowsOf(facts, (token) => registry.decimalsOf(token));
  const named: Named = new Map();
  for (const { id, ...offer } of rows.offers) named.set(`offer ${id}`, offer);
  for (const trade of rows.trades) named.set(`trade ${trade.tx}, idx ${trade.idx}`, { ...trade });
  for (const { offerId, block } of rows.cancellations) {
    named.set(`cancellation of offer ${offerId}`, { block });
  }
  const blocks = [...facts.filter(({ kind }) => kind !== "market"), { block: end.number, ...end }];
  for (const { block, hash } of blocks) named.set(`block ${block}`, { hash });
  return named;
}

const MATCH = `
  'maker', maker,
  'lot_gem', lot_gem,
  'lot_amt', trim_scale(lot_amt)::text,
  'bid_gem', bid_gem,
  'bid_amt', trim_scale(bid_amt)::text,
  'block', block,
  'time', to_char(time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'tx', tx`;

async function recordedRows(client: Client, from: number, to: number): Promise<Named> {
  const { rows } = await client.query<{ name: string; row: Record<string, unknown> }>(
    `select 'offer ' || id as name, json_build_object(${MATCH}) as row
    from dex_offer
    where block between $1 and $2
    union all
    select
      'trade ' || tx || ', idx ' || idx,
      json_build_object('offer_id', offer_id, 'taker', taker, 'idx', idx, ${MATCH})
    from dex_trade
    where block between $1 and $2
    union all
    select 'cancellation of offer ' || offer_id, json_build_object('block', block)
    from dex_private.cancellation
    where block between $1 and $2
    union all
    select 'block ' || number, json_build_object('hash', hash)
    from dex_block
    where number between $1 and $2`,
    [from, to],
  );
  return new Map(rows.map(({ name, row }) => [name, row]));
}

function* differences(chain: Named, recorded: Named): Generator<string> {
  for (const [name, row] of chain) {
    const kept = recorded.get(name);
    if (kept === undefined) {
      // Of blocks without rows, the database keeps the last 1,000.
      if (!name.startsWith("block")) yield `${name}: the database lacks it: ${JSON.stringify(row)}`;
      continue;
    }
    for (const [column, value] of Object.entries(row)) {
      if (kept[column] === value) continue;
      yield `${name}, ${column}: ${JSON.stringify(kept[column])} in the database, ${JSON.stringify(value)} on the chain`;
    }
  }
  for (const [name, row] of recorded) {
    if (chain.has(name) || name.startsWith("block")) continue;
    yield `${name}: the chain does not have it: ${JSON.stringify(row)}`;
  }
}
