// The rows that blocks of facts are written as: with the database's ids of orders, and addresses with their checksum.
import type { Client } from "../connect.ts";
import { pairHash } from "../load/checksum.ts";
import { address, amount, hash, isText, NotAccepted, time, wholeNumber } from "../load/values.ts";
import { MirrorError } from "./mirror-error.ts";
import type { FactBlock } from "./block-page.ts";

/** In the transaction that writes them: an order gets its id there. Throws a MirrorError for a value that is none. */
export async function rowsOfFacts(client: Client, blocks: readonly FactBlock[]) {
  const ids = await idsOf(client, blocks);
  const idOf = (name: string): number => ids.get(name) ?? value("offer", name, wholeNumber);
  return blocks.map((block) =>
    named(block.number, () => ({
      ...{
        number: value("number", block.number, wholeNumber),
        time: value("time", block.time, time),
        digest: block.digest,
      },
      hash: valueOrNull("hash", block.hash, hash),
      parent: valueOrNull("parent", block.parent, hash),
      offers: block.offers.map((offer) => ({
        ...swapOf(offer),
        ...{ id: idOf(offer.offer), filled: offer.closed },
      })),
      trades: block.trades.map((trade) => ({
        ...swapOf(trade),
        offer_id: trade.offer === null ? null : idOf(trade.offer),
        taker: value("taker", trade.taker, address),
        idx: value("idx", trade.idx, wholeNumber),
      })),
      killed: block.cancelled.map(idOf),
      pools: block.pools.map((pool) => ({
        venue: value("venue", pool.venue, address),
        gem0: value("gem0", pool.gem0, address),
        gem1: value("gem1", pool.gem1, address),
        reserve0: valueOrNull("reserve0", pool.reserve0, amount),
        reserve1: valueOrNull("reserve1", pool.reserve1, amount),
        fee: value("fee", pool.fee, wholeNumber),
        tick_spacing: pool.tickSpacing,
        sqrt_price: valueOrNull("sqrt_price", pool.sqrtPrice, units),
        tick: pool.tick,
        liquidity: valueOrNull("liquidity", pool.liquidity, units),
        nets: valueOrNull("nets", pool.nets, nets),
      })),
    })),
  );
}

export type BlockRows = Awaited<ReturnType<typeof rowsOfFacts>>[number];

function swapOf(fact: FactBlock["offers"][number] | FactBlock["trades"][number]) {
  const row = {
    pair: value("pair", fact.pair, hash),
    maker: value("maker", fact.maker, address),
    lot_gem: value("lot_gem", fact.lotGem, address),
    lot_amt: value("lot_amt", fact.lotAmt, amount),
    bid_gem: value("bid_gem", fact.bidGem, address),
    bid_amt: value("bid_amt", fact.bidAmt, amount),
    tx: value("tx", fact.tx, hash),
    venue: valueOrNull("venue", fact.venue, address),
  };
  const right = pairHash(row.lot_gem, row.bid_gem);
  if (row.pair === right) return row;
  throw new NotAccepted(
    `pair: ${shown(row.pair)} is not accepted; expected ${right}, the hash of the row's two tokens`,
  );
}

const matching =
  (form: RegExp, what: string): Read<string> =>
  (text) => {
    if (form.test(text)) return text;
    throw new NotAccepted(what);
  };

const units = matching(/^\d{1,49}$/, "an integer of at most 49 digits");
const nets = matching(
  /^(-?\d{1,6}:-?\d{1,50}(:\d{1,50})?( -?\d{1,6}:-?\d{1,50}(:\d{1,50})?)*)?$/,
  "ticks with their net liquidity, and the gross liquidity of some, as -60:1000 0:400:1600 60:-1400",
);

type Read<Made> = (text: string) => Made;

const shown = (text: string): string => JSON.stringify(text.slice(0, 120));

/** One that is refused is named, with its column. */
function value<Made>(column: string, given: string | number, read: Read<Made>): Made {
  const text = String(given);
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    throw new NotAccepted(`${column}: ${shown(text)} is not accepted; expected ${error.message}`);
  }
}

const valueOrNull = <Made>(column: string, text: string | null, read: Read<Made>): Made | null =>
  text === null ? null : value(column, text, read);

/** Names the block of a value that is refused. */
function named<Made>(number: number, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    throw new MirrorError(`block ${number}, ${error.message}`);
  }
}

const ORDER = /^(0x[0-9a-f]{40}):(".*")$/s;

/** The orders that their contract names. */
function namedOrders(blocks: readonly FactBlock[]) {
  const named = new Map<string, { venue: string; ref: string; block: number }>();
  for (const { number: block, offers, trades, cancelled } of blocks) {
    const names = [...offers, ...trades].map(({ offer }) => offer ?? "");
    for (const name of [...names, ...cancelled]) {
      const [, contract = "", ref = ""] = name.startsWith("0x") ? (ORDER.exec(name) ?? []) : [];
      if (ref === "" || named.has(name)) continue;
      named.set(name, { venue: address(contract), ref: refOf(name, ref, block), block });
    }
  }
  return named;
}

/** By these names: in the order of the chain. */
async function idsOf(
  client: Client,
  blocks: readonly FactBlock[],
): Promise<ReadonlyMap<string, number>> {
  const asked = namedOrders(blocks);
  if (asked.size === 0) return new Map();
  const given = [...asked.values()];
  const { rows } = await client.query<{ ids: number[] }>(
    "select ingest.offer_ids($1, $2, $3) as ids",
    [given.map(({ venue }) => venue), given.map(({ ref }) => ref), given.map(({ block }) => block)],
  );
  return new Map([...asked.keys()].map((name, n) => [name, rows[0]?.ids[n] ?? -1]));
}

/** Throws a MirrorError that names the block and the order. */
function refOf(name: string, json: string, block: number): string {
  const refuse = (problem: string): never => {
    throw new MirrorError(`block ${block} has the order ${shown(name)}, whose name ${problem}`);
  };
  let ref = "";
  try {
    ref = String(JSON.parse(json));
  } catch {
    refuse("is not a JSON string");
  }
  return isText(ref) ? ref : refuse("has the zero character, or a half of a surrogate pair");
}
