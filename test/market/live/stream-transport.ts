// The event stream as a transport of live data.
import { followStream, type Received } from "../../stream-client.ts";
import {
  clientOf,
  NO_CONNECTION,
  Refused,
  type Asked,
  type Change,
  type Kind,
  type LiveEvent,
  type Row,
  type Transport,
} from "./live-client.ts";

const nameOf = ({ kind, market = "*", interval, depth }: Asked): string =>
  kind === "head"
    ? kind
    : [kind, market, interval ?? depth].filter((part) => part !== undefined).join(":");

export const topicsOf = (asked: readonly Asked[]): string => asked.map(nameOf).join(",");

const decimal = (value: unknown): string => {
  const text = (value ?? "0") as string;
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

/** ISO 8601 UTC with milliseconds, truncated. */
const moment = (time: unknown): string | null =>
  time === null ? null : `${(time as string).slice(0, 23)}Z`;

const decimals = (row: Row, ...names: string[]): Row =>
  Object.fromEntries(names.map((name) => [name, decimal(row[name])]));

/** A row of the tables as REST has it. */
const RECORDS: Record<Kind, (row: Row) => Row> = {
  // The head of an event has no digest; that of the topic has.
  head: ({ block, time, ...others }) => ({ block, time: moment(time), ...others }),
  trades: ({ id, act, price, lotAmt, bidAmt, time }) => ({
    ...{ id: Number(id), price: decimal(price) },
    ...{ volume: decimal(act === "sell" ? lotAmt : bidAmt), time: moment(time) },
  }),
  market: (row) => ({
    pair: row["pair"],
    ...decimals(row, "price", "last", "vol", "ask", "bid", "low", "high"),
    active: row["active"],
  }),
  summary: (row) => ({
    ...{ pair: row["pair"], last: decimal(row["last"]), lastTime: moment(row["lastTime"]) },
    ...decimals(row, "open", "change", "percent", "low", "high", "vwap", "vol", "quoteVol"),
    trades: row["trades"],
    ...decimals(row, "bid", "ask", "spread"),
  }),
  candles: (row) => ({
    time: moment(row["time"]),
    ...decimals(row, "open", "high", "low", "close", "vol", "quoteVol"),
    ...{ trades: row["trades"], complete: row["complete"] },
  }),
  book: (row) => ({
    act: row["act"],
    ...decimals(row, "price", "vol", "quoteVol"),
    offers: row["offers"],
  }),
};

const REFUSALS: Record<number, Refused["why"]> = { 400: "input", 429: "limit", 503: "unavailable" };

export const eventStream: Transport = {
  name: "the event stream",
  carriesMany: true,
  takesPlace: () => true,
  headOf: ({ head }) => head && (RECORDS.head(head) as typeof head),
  // A market that has another name then is left out.
  rowsOf: (asked, truth) =>
    (truth.rows(asked) ?? []).flatMap((row) => {
      if (asked.kind !== "trades") return [RECORDS[asked.kind](row)];
      // The topics of all markets have no trade of another one.
      const market = truth.marketOf(row);
      return market === undefined ? [] : [{ market, ...RECORDS.trades(row) }];
    }),
  connect(url) {
    const gone = new AbortController();
    const { promise: opened, resolve } = Promise.withResolvers<undefined>();
    async function* read(asked: readonly Asked[], after?: string): AsyncGenerator<LiveEvent, void> {
      const path = `${url}/v2/stream?topics=${encodeURIComponent(topicsOf(asked))}`;
      const headers = after === undefined ? {} : { "Last-Event-ID": after };
      try {
        const client = await followStream(path, headers, gone);
        resolve(undefined);
        const { status } = client;
        const why = REFUSALS[status];
        if (why !== undefined) throw new Refused(why, `${status}`);
        if (status !== 200) throw new Error(`${status} for ${path}`);
        for (let event = await client.next(); event !== undefined; event = await client.next()) {
          yield eventOf(event, asked);
        }
      } catch (error) {
        const { name, message } = error as Error;
        if (message === "fetch failed") yield { event: "closed", reason: NO_CONNECTION };
        // The client has gone.
        else if (name !== "AbortError") throw error;
      } finally {
        resolve(undefined);
      }
    }
    return {
      opened,
      follow: (asked, after) => clientOf(read(asked, after)),
      close: () => gone.abort(),
    };
  },
};

function eventOf({ event, id = "", data }: Received, asked: readonly Asked[]): LiveEvent {
  const { block, time, topics, more, trade = 0, reason = "" } = data;
  switch (event) {
    case "update":
      return {
        event,
        place: id,
        head: block === null || time === null ? null : { block, time },
        changes: new Map(
          asked.flatMap((each): [Asked, Change][] => {
            const change = changeOf(each, topics);
            return change === undefined ? [] : [[each, change]];
          }),
        ),
        more: more === true,
      };
    case "retract":
      return { event, place: id, block, time, trade };
    case "reset":
    case "closed":
      return { event, reason };
    default:
      throw new Error(`no event is a ${event}`);
  }
}

/** The change of all topics that the one which was asked for stands for. */
function changeOf(asked: Asked, topics: Record<string, unknown>): Change | undefined {
  const { kind, market } = asked;
  const changes = Object.entries(topics)
    .filter(([name]) =>
      market === undefined ? name.split(":")[0] === kind : name === nameOf(asked),
    )
    .map(([name, data]) => dataOf(kind, name.split(":")[1] ?? "", data));
  if (changes.length === 0) return undefined;
  const rows = changes.flatMap((change) => change.rows);
  return {
    ...changes[0],
    // Each market's list is in order.
    rows:
      kind === "trades"
        ? rows.toSorted((one, other) => Number(one["id"]) - Number(other["id"]))
        : rows,
    absent: changes.flatMap(({ absent = [] }) => absent),
  };
}

interface Sides {
  whole: boolean;
  bids: Row[];
  asks: Row[];
}

function dataOf(kind: Kind, market: string, data: unknown): Change {
  switch (kind) {
    case "trades": {
      const trades = data as (Row & { id: number })[];
      const isInOrder = trades.every(({ id }, n) => n === 0 || id > trades[n - 1]!.id);
      if (!isInOrder) throw new Error(`the trades of ${market} are out of order`);
      return { rows: trades.map((trade) => ({ market, ...trade })) };
    }
    case "candles":
      return { rows: data as Row[] };
    case "book": {
      const { whole, bids, asks } = data as Sides;
      const side = (act: string, levels: Row[]) => levels.map((level) => ({ act, ...level }));
      return { whole, rows: [...side("buy", bids), ...side("sell", asks)] };
    }
    default:
      if (data !== null) return { rows: [data as Row] };
      return kind === "head" ? { rows: [] } : { rows: [], absent: [market] };
  }
}
