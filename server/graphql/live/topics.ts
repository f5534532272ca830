// What the fields of Subscription follow: what a client begins with, and what has changed since.
import { SafeError } from "postgraphile/grafast";
import type { Database } from "../../../db/connect.ts";
import { INTERVALS, startOf } from "../../http/live/candle-intervals.ts";
import { changedLevels } from "../../http/live/changed-levels.ts";
import { readPlaceText, type CurrentPlace, type Place } from "../../http/live/place.ts";
import { readWholeBlocks } from "../../http/live/whole-blocks.ts";
import type { Reading } from "./rounds.ts";
import type { Topic } from "./subscription.ts";

/** Checks the type of a topic, which its subscription does not know. */
const topic = <State>(declared: Omit<Topic<State>, "after">, after?: Place): Topic =>
  ({ ...declared, after }) as Topic;

class BadArgument extends SafeError {
  constructor(name: string, accepted: string, given: string) {
    const shown = given.length > SHOWN ? `${given.slice(0, SHOWN)}…` : given;
    super(`"${name}" must be ${accepted}, not ${JSON.stringify(shown)}`, {
      code: "BAD_USER_INPUT",
    });
  }
}

const SHOWN = 40;

function readAfter(after: string | null | undefined): Place | undefined {
  if (after == null) return undefined;
  const place = readPlaceText(after);
  if (place === undefined) throw new BadArgument("after", "the cursor of an event", after);
  return place;
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;

function readAddress(name: string, address: string | null | undefined): string | undefined {
  if (address == null) return undefined;
  if (!ADDRESS.test(address)) {
    throw new BadArgument(name, "an address, 0x and 40 hexadecimal digits", address);
  }
  return address.toLowerCase();
}

interface Pair {
  id: number;
  pair: string;
}

const SELECT_PAIRS = {
  name: "live_pairs",
  text: `
    select
      pair.id,
      given.name,
      pair.base || '/' || pair.quote as pair
    from unnest($1::text[]) as given (name)
    left join dex_pair as pair on pair.base || '/' || pair.quote = upper(given.name)
  `,
};

/** The registered pairs of these names; a name that is not registered is an error. */
async function findPairs(
  { db, once }: Reading,
  argument: string,
  names: readonly string[],
): Promise<Pair[]> {
  return once(`pairs ${JSON.stringify(names)}`, async () => {
    const { rows } = await db.query<{ id: number | null; name: string; pair: string }>({
      ...SELECT_PAIRS,
      values: [names],
    });
    return rows.map(({ id, name, pair }) => {
      if (id !== null) return { id, pair };
      throw new BadArgument(argument, "BASE/QUOTE of a registered pair", name);
    });
  });
}

export const headTopic = (): Topic => {
  const read = ({ now: { block, time } }: Reading, before?: string) => {
    const state = `${block} ${time ?? ""}`;
    return Promise.resolve({ payload: {}, hasChanged: state !== before, state });
  };
  return topic<string>({
    begin: (reading) => read(reading),
    goOn: (reading, { state }) => read(reading, state),
  });
};

export interface TradesArguments {
  market?: string | null | undefined;
  taker?: string | null | undefined;
  maker?: string | null | undefined;
  after?: string | null | undefined;
}

/** The columns by which trades are chosen. */
interface TradesFilter {
  market_id: number | undefined;
  taker: string | undefined;
  maker: string | undefined;
}

/** `page` is how many trades an event has at most, unless one block has more. */
export function tradesTopic({ market, taker, maker, after }: TradesArguments, page: number): Topic {
  const chosen = { taker: readAddress("taker", taker), maker: readAddress("maker", maker) };
  const filterOf = async (reading: Reading): Promise<TradesFilter> => {
    const [pair] = market == null ? [] : await findPairs(reading, "market", [market]);
    return { ...chosen, market_id: pair?.id };
  };
  return topic<undefined>(
    {
      async begin(reading) {
        await filterOf(reading);
        return { payload: { ids: [] }, hasChanged: false, state: undefined };
      },
      async goOn(reading, { trade }) {
        const filter = await filterOf(reading);
        const key = `trades ${trade} ${JSON.stringify(filter)}`;
        const { ids, upTo } = await reading.once(key, () =>
          readTrades(reading, filter, { after: trade, page }),
        );
        return { payload: { ids }, hasChanged: ids.length > 0, state: undefined, ...upTo };
      },
    },
    readAfter(after),
  );
}

interface TradePlace {
  id: string;
  block: number;
  time: string;
}

async function readTrades(
  { db, now }: Reading,
  filter: TradesFilter,
  { after, page }: { after: number; page: number },
): Promise<{ ids: string[]; upTo: { upTo?: CurrentPlace } }> {
  const { rows, place } = await readWholeBlocks(
    (limit) => findTradesAfter(db, filter, { after, limit }),
    { page, now },
  );
  return { ids: rows.map(({ id }) => id), upTo: place === now ? {} : { upTo: place } };
}

/** The columns that may be given, and their types. */
const FILTERS = { taker: "text", maker: "text", market_id: "integer" } as const;
const COLUMNS = ["taker", "maker", "market_id"] as const;

/** The first `limit` trades whose id is greater than `after`, oldest first. */
async function findTradesAfter(
  db: Database,
  filter: TradesFilter,
  { after, limit }: { after: number; limit: number },
): Promise<TradePlace[]> {
  // The first of these has an index with the id; compared with any (...) and ordered by it, only that index serves.
  const given = COLUMNS.filter((column) => filter[column] !== undefined);
  const conditions = given.map(
    (column, n) => `and trade.${column} = any (array[$${n + 3}::${FILTERS[column]}])`,
  );
  const order = given.slice(0, 1).map((column) => `trade.${column},`);
  const { rows } = await db.query<TradePlace>({
    name: `live_trades_after_${given.join("_")}`,
    text: `
      select
        trade.id,
        trade.block,
        to_char(trade.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time
      from dex_trade as trade
      where trade.id > $1
      ${conditions.join("\n      ")}
      order by ${order.join("")} trade.id
      limit $2
    `,
    values: [after, limit, ...given.map((column) => filter[column])],
  });
  return rows;
}

const SELECT_MARKETS = {
  name: "live_markets",
  text: `
    select
      market.pair,
      md5(market::text) as hash
    from dex_market as market
    order by market.pair collate "C"
  `,
};

/** Hashes by key. */
type Hashes = ReadonlyMap<string, string>;

export function marketsTopic({ pairs }: { pairs?: readonly string[] | null | undefined }): Topic {
  const read = async (reading: Reading, before: Hashes | undefined) => {
    const named = pairs && (await findPairs(reading, "pairs", pairs));
    const names = named && new Set(named.map(({ pair }) => pair));
    const all = await reading.once("markets", async () => {
      const { rows } = await reading.db.query<{ pair: string; hash: string }>(SELECT_MARKETS);
      return new Map(rows.map(({ pair, hash }) => [pair, hash]));
    });
    const isFollowed = (pair: string) => names?.has(pair) !== false;
    const changed = [...all.keys()]
      .filter(isFollowed)
      .filter((pair) => all.get(pair) !== before?.get(pair));
    const removed = [...(before?.keys() ?? [])].filter(isFollowed).filter((pair) => !all.has(pair));
    const hasChanged = changed.length + removed.length > 0;
    return { payload: { pairs: changed, removed }, hasChanged, state: all };
  };
  return topic<Hashes>({
    begin: (reading) => read(reading, undefined),
    goOn: (reading, { state }) => read(reading, state),
  });
}

/** No candle begins at it. */
const NEVER = "infinity";

export interface CandlesArguments {
  base: string;
  quote: string;
  interval: string;
  after?: string | null | undefined;
}

/** A client that has been away for `page` candles must begin anew. */
export function candlesTopic(
  { base, quote, interval, after }: CandlesArguments,
  page: number,
): Topic {
  const known = INTERVALS.find((each) => each === interval);
  if (known === undefined) throw new BadArgument("interval", INTERVALS.join(", "), interval);
  const read = async (reading: Reading, from: string | null, limit: number): Promise<Hashes> => {
    await findPairs(reading, "base/quote", [`${base}/${quote}`]);
    const values = [base, quote, interval, from, limit];
    return reading.once(`candles ${JSON.stringify(values)}`, async () => {
      const { rows } = await reading.db.query<{ time: string; hash: string }>({
        ...SELECT_CANDLES,
        values,
      });
      return new Map(rows.map(({ time, hash }) => [time, hash]));
    });
  };
  const changeOf = (now: Hashes, before: Hashes | undefined) => {
    const first = [...now.keys()].find((time) => now.get(time) !== before?.get(time));
    const payload = { base, quote, interval, from: first ?? NEVER };
    return { payload, hasChanged: first !== undefined, state: now };
  };
  return topic<Hashes>(
    {
      begin: async (reading) => changeOf(await read(reading, null, 1), undefined),
      async goOn(reading, { time, retraction, state }) {
        const now = await read(reading, startOf(time, known), page);
        if (now.size >= page) return `more than ${page - 1} candles are missing`;
        return changeOf(now, retraction === undefined ? state : undefined);
      },
    },
    readAfter(after),
  );
}

const SELECT_CANDLES = {
  name: "live_candles",
  text: `
    select
      to_char(candle.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as time,
      md5(candle::text) as hash
    from dex_candles($1, $2, $3, $4, null, $5, 'omit') as candle
    order by candle.time
  `,
};

export interface BookArguments {
  base: string;
  quote: string;
  depth: number;
}

interface Level {
  act: string;
  price: string;
  vol: string;
  quoteVol: string;
  offers: number;
}

const SELECT_BOOK = {
  name: "live_book",
  text: `
    select
      level.act,
      level.price::text as price,
      level.vol::text as vol,
      level.quote_vol::text as "quoteVol",
      level.offers
    from dex_book($1, $2, $3) with ordinality as level
    order by level.ordinality
  `,
};

export function bookTopic({ base, quote, depth }: BookArguments): Topic {
  const read = async (reading: Reading): Promise<Level[]> => {
    await findPairs(reading, "base/quote", [`${base}/${quote}`]);
    const values = [base, quote, depth];
    return reading.once(`book ${JSON.stringify(values)}`, async () => {
      const { rows } = await reading.db.query<Level>({ ...SELECT_BOOK, values });
      return rows;
    });
  };
  return topic<Level[]>({
    async begin(reading) {
      const now = await read(reading);
      return { payload: { whole: true, nodes: now }, hasChanged: true, state: now };
    },
    async goOn(reading, { state = [] }) {
      const now = await read(reading);
      const nodes = changedLevels(state, now);
      return { payload: { whole: false, nodes }, hasChanged: nodes.length > 0, state: now };
    },
  });
}
