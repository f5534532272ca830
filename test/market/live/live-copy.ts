// A client's own copy of the topics that it follows together, kept by the events alone, as docs/live.md says.
import {
  isHistory,
  type Asked,
  type Change,
  type Kind,
  type LiveEvent,
  type Retract,
  type Row,
  type Transport,
  type Update,
} from "./live-client.ts";
import type { Truth } from "./live-truth.ts";

const MINUTES: Record<string, number> = {
  ...{ "1m": 1, "5m": 5, "15m": 15, "30m": 30 },
  ...{ "1h": 60, "4h": 240, "1d": 1440 },
};

export class LiveCopy {
  /** Where the client goes on. */
  place: string | undefined;
  /** Whether the last event is of a whole head. */
  isWhole = false;
  readonly #transport: Transport;
  readonly #topics: TopicCopy[];
  /** Whether the next event is the first of a client that has named no place. */
  #begins = true;

  constructor(transport: Transport, asked: readonly Asked[]) {
    this.#transport = transport;
    this.#topics = asked.map((each) => new TopicCopy(each));
  }

  /** A client connects. Returns the place that it names. */
  connect(): string | undefined {
    const takesPlace = this.#topics.every(({ asked }) => this.#transport.takesPlace(asked));
    const place = takesPlace ? this.place : undefined;
    this.#begins = place === undefined;
    this.isWhole = false;
    for (const each of this.#topics) if (this.#begins || !isHistory(each.asked)) each.begin();
    return place;
  }

  apply(event: LiveEvent): void {
    if (event.event === "closed") return;
    if (event.event === "update") {
      for (const each of this.#topics) each.take(event);
    } else {
      if (this.#begins) throw new Error(`a client that begins gets a ${event.event}`);
      for (const each of this.#topics) {
        if (event.event === "reset") each.begin();
        else each.retract(event);
      }
    }
    this.#begins = false;
    this.isWhole = event.event === "update" && !event.more;
    if (event.event !== "reset") this.place = event.place ?? this.place;
  }

  /** What differs from the tables, in words. */
  differences(truth: Truth): string[] {
    return this.#topics.flatMap((each) => {
      const right = this.#transport.rowsOf(each.asked, truth);
      if (right === undefined) return [`${each.asked.market} is not registered`];
      return each.differences(right);
    });
  }
}

class TopicCopy {
  readonly asked: Asked;
  readonly #rows = new Map<string, Row>();
  /** Whether the next event is the first one of a state. */
  #begins = true;
  /** The copy has later trades only. */
  #beganAfter = 0n;
  /** The greatest id of a trade that ever came: no trade comes twice, and none is out of order. */
  #newest = 0n;
  /** The copy has the candles from this time on. */
  #firstCandle = -Infinity;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  begin(): void {
    this.#begins = true;
  }

  retract({ time, trade }: Retract): void {
    if (!isHistory(this.asked)) return;
    const ms = (MINUTES[this.asked.interval ?? ""] ?? NaN) * 60_000;
    // The candle of the time, and those after it, are sent again.
    const again = time === null ? -Infinity : Math.floor(Date.parse(time) / ms) * ms;
    for (const [key, row] of this.#rows) {
      const isVoid =
        this.asked.kind === "trades" ? BigInt(key) > BigInt(trade) : timeOf(row) >= again;
      if (isVoid) this.#rows.delete(key);
    }
    this.#firstCandle = Math.min(this.#firstCandle, again);
  }

  take({ place, changes, more }: Update): void {
    const change = changes.get(this.asked) ?? { rows: [] };
    const { kind } = this.asked;
    if (more && !isHistory(this.asked)) {
      if (changes.has(this.asked)) throw new Error(`a page has the ${kind}`);
      return;
    }
    const begins = this.#begins;
    this.#begins = false;
    if (begins || (kind === "head" && changes.has(this.asked))) this.#rows.clear();
    if (kind === "trades") this.#addTrades(change.rows, begins ? place : undefined);
    else if (kind === "candles") this.#setCandles(change.rows, begins);
    else if (kind === "book") this.#setLevels(change, begins);
    else {
      for (const pair of change.absent ?? []) this.#rows.delete(pair);
      for (const pair of change.removed ?? []) {
        if (!this.#rows.delete(pair)) throw new Error(`${pair} was removed, and never sent`);
      }
      this.#set(change.rows);
    }
  }

  #set(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(keyOf(this.asked.kind, row), row);
  }

  #addTrades(trades: readonly Row[], begunAt: string | undefined): void {
    if (begunAt !== undefined) {
      this.#beganAfter = this.#newest = BigInt(begunAt.split(".").at(-1) ?? "");
      if (trades.length > 0) throw new Error("trades came before a change");
    }
    for (const trade of trades) {
      const id = BigInt(keyOf("trades", trade));
      if (id <= this.#newest) throw new Error(`trade ${id} came after trade ${this.#newest}`);
      this.#newest = id;
    }
    this.#set(trades);
  }

  #setCandles(candles: readonly Row[], begins: boolean): void {
    const first = candles[0] === undefined ? undefined : timeOf(candles[0]);
    if (begins) this.#firstCandle = first ?? -Infinity;
    // A client that resumes at an empty block that is no longer recorded gets all from the block before it.
    else this.#firstCandle = Math.min(this.#firstCandle, first ?? Infinity);
    this.#set(candles);
  }

  #setLevels({ rows, whole }: Change, begins: boolean): void {
    if (whole !== undefined && whole !== begins) {
      throw new Error(`a book is sent ${begins ? "in part" : "twice"}`);
    }
    this.#set(rows.filter((level) => level["offers"] !== 0));
    for (const gone of rows.filter((level) => level["offers"] === 0)) {
      if (!this.#rows.delete(keyOf("book", gone))) throw new Error("an unknown level is gone");
    }
  }

  differences(right: readonly Row[]): string[] {
    const found = this.#textOf([...this.#rows.values()]);
    const wanted = this.#textOf(right.filter((row) => this.#isSinceBegun(row)));
    if (found === wanted) return [];
    return [`${JSON.stringify(this.asked)} is\n${found}\nand should be\n${wanted}`];
  }

  #isSinceBegun(row: Row): boolean {
    const { kind } = this.asked;
    if (kind === "trades") return BigInt(keyOf(kind, row)) > this.#beganAfter;
    return kind !== "candles" || timeOf(row) >= this.#firstCandle;
  }

  /** In the order of the keys: changes do not name an order. */
  #textOf(rows: readonly Row[]): string {
    return rows
      .map((row) => ({ key: keyOf(this.asked.kind, row), text: JSON.stringify(row) }))
      .sort((one, other) => (one.key < other.key ? -1 : 1))
      .map(({ text }) => text)
      .join("\n");
  }
}

const timeOf = ({ time }: Row): number => Date.parse(String(time));

function keyOf(kind: Kind, row: Row): string {
  switch (kind) {
    case "head":
      return "";
    case "trades":
      return String(row["id"]);
    case "candles":
      return String(row["time"]);
    case "book":
      return `${String(row["act"])} ${String(row["price"])}`;
    default:
      return String(row["pair"]);
  }
}
