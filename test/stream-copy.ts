// A client's own copy of the topics that it follows, kept by the events alone, as docs/live.md says.
import type { Received } from "./stream-client.ts";

interface Trade {
  id: number;
}

interface Candle {
  time: string;
}

interface Level {
  price: string;
  offers: number;
}

interface Book {
  bids: Level[];
  asks: Level[];
}

interface BookChange extends Book {
  whole: boolean;
}

const MINUTES: Record<string, number> = {
  ...{ "1m": 1, "5m": 5, "15m": 15, "30m": 30 },
  ...{ "1h": 60, "4h": 240, "1d": 1440 },
};

const kindOf = (name: string): string => name.split(":")[0] ?? "";

/** The milliseconds of a candle's interval. */
const spanOf = (name: string): number => MINUTES[name.split(":").at(-1) ?? ""]! * 60_000;

export class StreamCopy {
  /** Where the client resumes. */
  id: string | undefined;
  readonly #data = new Map<string, unknown>();
  /** The copy has later trades only. */
  #beganAfter: number | undefined;
  /** The copy has the candles from this time on, by topic; all where there is none. */
  readonly #firstCandles = new Map<string, number>();
  /** The greatest id of a trade that ever came, by topic: no trade comes twice, and none is out of order. */
  readonly #newest = new Map<string, number>();

  apply({ event, id, data }: Received): void {
    if (event === "reset") this.#begin();
    if (event === "retract") this.#retract(data.time, data.trade ?? 0);
    if (event === "update") this.#update(id ?? "", data.topics);
    if (id !== undefined) this.id = id;
  }

  #begin(): void {
    this.#data.clear();
    this.#beganAfter = undefined;
    this.#firstCandles.clear();
    this.#newest.clear();
  }

  #update(id: string, topics: Record<string, unknown>): void {
    const isFirst = this.#beganAfter === undefined;
    if (isFirst) this.#beganAfter = Number(id.split(".").at(-1));
    for (const [name, data] of Object.entries(topics)) {
      switch (kindOf(name)) {
        case "trades":
          this.#addTrades(name, data as Trade[]);
          break;
        case "candles":
          this.#setCandles(name, data as Candle[], isFirst);
          break;
        case "book":
          this.#data.set(name, changedBook(this.#data.get(name) as Book, data as BookChange));
          break;
        default:
          this.#data.set(name, data);
      }
    }
  }

  #addTrades(name: string, fresh: Trade[]): void {
    const known = (this.#data.get(name) ?? []) as Trade[];
    for (const { id } of fresh) {
      const newest = this.#newest.get(name) ?? 0;
      if (id <= newest) throw new Error(`trade ${id} of ${name} came after trade ${newest}`);
      this.#newest.set(name, id);
    }
    this.#data.set(name, [...known, ...fresh]);
  }

  #setCandles(name: string, fresh: Candle[], isFirst: boolean): void {
    const first = isFirst ? Infinity : this.#firstCandles.get(name);
    // A client that resumes at an empty block that is no longer recorded gets all from the block before it.
    if (first !== undefined) {
      this.#firstCandles.set(name, Math.min(first, Date.parse(fresh[0]?.time ?? "")));
    }
    const known = (this.#data.get(name) ?? []) as Candle[];
    const times = new Set(fresh.map(({ time }) => time));
    const candles = [...known.filter(({ time }) => !times.has(time)), ...fresh];
    this.#data.set(
      name,
      candles.sort((one, other) => Date.parse(one.time) - Date.parse(other.time)),
    );
  }

  #retract(time: string | null, trade: number): void {
    const stands = time === null ? -Infinity : Date.parse(time);
    for (const [name, data] of this.#data) {
      if (kindOf(name) === "trades") {
        this.#data.set(
          name,
          (data as Trade[]).filter(({ id }) => id <= trade),
        );
      }
      if (kindOf(name) !== "candles") continue;
      const span = spanOf(name);
      this.#data.set(
        name,
        (data as Candle[]).filter((candle) => Date.parse(candle.time) + span <= stands),
      );
      const first = this.#firstCandles.get(name);
      // Those that stand are told again, from the interval of this time on.
      if (first !== undefined) {
        this.#firstCandles.set(name, Math.min(first, Math.floor(stands / span) * span));
      }
    }
  }

  /** Each topic that differs from what the tables have, in words. */
  differences(right: ReadonlyMap<string, unknown>): string[] {
    const names = new Set([...right.keys(), ...this.#data.keys()]);
    return [...names].flatMap((name) => {
      const found = JSON.stringify(this.#data.get(name) ?? noneOf(name));
      const wanted = JSON.stringify(this.#sinceBegun(name, right.get(name) ?? noneOf(name)));
      return found === wanted ? [] : [`${name} is\n${found}\nand should be\n${wanted}`];
    });
  }

  #sinceBegun(name: string, right: unknown): unknown {
    switch (kindOf(name)) {
      case "trades":
        return (right as Trade[]).filter(({ id }) => id > (this.#beganAfter ?? 0));
      case "candles": {
        const first = this.#firstCandles.get(name) ?? -Infinity;
        return (right as Candle[]).filter(({ time }) => Date.parse(time) >= first);
      }
      default:
        return right;
    }
  }
}

/** What a topic is that was never told. */
function noneOf(name: string): unknown {
  switch (kindOf(name)) {
    case "trades":
    case "candles":
      return [];
    case "book":
      return { bids: [], asks: [] };
    default:
      return null;
  }
}

function changedBook(before: Book | undefined, { whole, bids, asks }: BookChange): Book {
  if (before === undefined && !whole) throw new Error("a change of a book came before the book");
  const known = whole || before === undefined ? { bids: [], asks: [] } : before;
  return {
    bids: changedSide(known.bids, bids).reverse(),
    asks: changedSide(known.asks, asks),
  };
}

/** By price, from the lowest up. */
function changedSide(before: Level[], fresh: Level[]): Level[] {
  const levels = new Map([...before, ...fresh].map((level) => [level.price, level]));
  return [...levels.values()]
    .filter(({ offers }) => offers > 0)
    .sort((one, other) => (units(one.price) < units(other.price) ? -1 : 1));
}

/** A decimal in units of its 18th fractional digit. */
function units(decimal: string): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(18, "0"));
}
