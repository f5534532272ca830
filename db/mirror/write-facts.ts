// Writes blocks of facts: a few one by one, or many at once from the staging tables.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../connect.ts";
import { refusedByDatabase } from "../load/load-error.ts";
import { rowsOfFacts, type BlockRows } from "./fact-rows.ts";
import { MirrorError } from "./mirror-error.ts";
import type { FactBlock } from "./block-page.ts";

/** Each block becomes the head in turn, after the block with the number `before`. */
export async function writeOneByOne(
  client: Client,
  blocks: readonly FactBlock[],
  before: number | undefined,
): Promise<void> {
  let last = before;
  for (const { number, time, hash, parent, offers, trades, killed, pools } of await rowsOfFacts(
    client,
    blocks,
  )) {
    const written = client.query({
      name: "mirror_block",
      text: "select ingest.write_block($1, $2, $3, $4, $5, $6, $7, $8)",
      values: [
        ...[number, time, hash],
        // A block without rows between them is not kept for long, and then the parent is not recorded.
        last === number - 1 ? parent : null,
        ...[JSON.stringify(offers), JSON.stringify(trades), killed, JSON.stringify(pools)],
      ],
    });
    await written.catch((error: unknown) => {
      throw refusedByDatabase(error, `the database refuses block ${number}`);
    });
    last = number;
  }
}

type Value = string | number | boolean | null;

/** No value has a character that COPY treats specially. */
const lineOf = (values: readonly Value[]): string =>
  `${values.map((value) => value ?? "\\N").join("\t")}\n`;

const SWAP = ["pair", "maker", "lot_gem", "lot_amt", "bid_gem", "bid_amt", "tx", "venue"] as const;
const POOL = [
  ...(["venue", "gem0", "reserve0", "gem1", "reserve1", "fee"] as const),
  ...(["tick_spacing", "sqrt_price", "tick", "liquidity", "nets"] as const),
];

/** The line of the file that the next row has: a refusal names it. */
export interface Lines {
  offers: number;
  trades: number;
}

interface Staged {
  table: string;
  columns: readonly string[];
  valuesOf: (block: BlockRows, lines: Lines) => Value[][];
}

const STAGED: readonly Staged[] = [
  {
    table: "ingest.staged_block",
    columns: ["number", "time", "hash"],
    valuesOf: ({ number, time, hash }) => [[number, time, hash]],
  },
  {
    table: "ingest.staged_offer",
    columns: ["line", "block", "time", "id", "filled", ...SWAP],
    valuesOf: ({ number, time, offers }, lines) =>
      offers.map((row) => [
        lines.offers++,
        number,
        time,
        row.id,
        row.filled,
        ...SWAP.map((name) => row[name]),
      ]),
  },
  {
    table: "ingest.staged_trade",
    columns: ["line", "block", "time", "offer_id", "taker", "idx", ...SWAP],
    valuesOf: ({ number, time, trades }, lines) =>
      trades.map((row) => [
        ...[lines.trades++, number, time, row.offer_id, row.taker, row.idx],
        ...SWAP.map((name) => row[name]),
      ]),
  },
  {
    table: "ingest.staged_cancellation",
    columns: ["block", "offer_id"],
    valuesOf: ({ number, killed }) => killed.map((id) => [number, id]),
  },
  {
    table: "ingest.staged_pool",
    columns: ["block", "time", ...POOL],
    valuesOf: ({ number, time, pools }) =>
      pools.map((row) => [number, time, ...POOL.map((name) => row[name])]),
  },
];

/** Copies them into the staging tables; `ingest.write_blocks` writes them in the same transaction. */
export async function stage(
  client: Client,
  blocks: readonly FactBlock[],
  lines: Lines,
): Promise<void> {
  const rows = await rowsOfFacts(client, blocks);
  for (const { table, columns, valuesOf } of STAGED) {
    const text = rows
      .flatMap((block) => valuesOf(block, lines))
      .map(lineOf)
      .join("");
    if (text === "") continue;
    const copy = client.query(copyFrom(`copy ${table} (${columns.join(", ")}) from stdin`));
    await pipeline(Readable.from([text]), copy);
  }
}

export interface Digested {
  number: number;
  digest: string | null;
}

/** Throws a MirrorError that names the first of these blocks with another digest. Before the commit: nothing stays. */
export async function refuseOtherDigests(
  client: Client,
  blocks: readonly Digested[],
): Promise<void> {
  const { rows } = await client.query<{
    number: number;
    here: string | null;
    there: string | null;
  }>({
    name: "mirror_digests",
    text: `
      select
        given.number,
        dex_block_digest(block) as here,
        given.digest as there
      from unnest($1::integer[], $2::text[]) as given (number, digest)
      left join dex_block as block on block.number = given.number
      where dex_block_digest(block) is distinct from given.digest
      order by given.number
      limit 1`,
    values: [blocks.map(({ number }) => number), blocks.map(({ digest }) => digest)],
  });
  const [found] = rows;
  if (found === undefined) return;
  throw new MirrorError(
    `block ${found.number}: its facts have the digest ${found.here ?? "none"}, and the origin says ${found.there ?? "none"}`,
  );
}
