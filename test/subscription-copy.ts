// A client's own copy of what one subscription follows, kept by the events alone, as docs/graphql.md says.
import { INTERVALS, startOf, type Interval } from "../server/http/live/candle-intervals.ts";
import type { SubscriptionEvent } from "./subscription-client.ts";
import type { Row } from "./subscription-truth.ts";

export type Field = "dexHead" | "dexTrades" | "dexMarkets" | "dexCandles" | "dexBook";

/** Those that take the cursor of a client that comes back. The others begin with their whole state. */
export const takesAfter = (field: Field): boolean =>
  field === "dexTrades" || field === "dexCandles";

/** An event with only the fields that its type has. */
export type AnyEvent = Pick<SubscriptionEvent, "cursor" | "head" | "retractedTo" | "reset"> &
  Partial<SubscriptionEvent>;

const textOf = (row: Row, name: string): string => String(row[name]);

const KEYS: Record<Field, (row: Row) => string> = {
  dexHead: () => "head",
  dexTrades: (row) => textOf(row, "id"),
  dexMarkets: (row) => textOf(row, "pair"),
  dexCandles: (row) => textOf(row, "time"),
  dexBook: (row) => `${textOf(row, "act")} ${textOf(row, "price")}`,
};

export class SubscriptionCopy {
  /** Where the client resumes. */
  cursor: string | undefined;
  readonly #field: Field;
  readonly #interval: Interval;
  readonly #rows = new Map<string, Row>();
  /** Whether the next event is the first one of a state. */
  #begins = true;
  /** The copy has later trades only. */
  #beganAfter = 0n;
  /** The greatest id of a trade that ever came: no trade comes twice, and none is out of order. */
  #newest = 0n;
  /** The copy has the candles from this time on; all where it is empty. */
  #firstCandle = "";

  constructor(field: Field, interval: Interval = INTERVALS[0]) {
    this.#field = field;
    this.#interval = interval;
  }

  /** A subscription begins: the next event has the state, unless the copy's cursor is handed back. */
  subscribe(): void {
    this.#begins = this.cursor === undefined || !takesAfter(this.#field);
  }

  apply(event: AnyEvent): void {
    const begins = this.#begins || event.reset !== null;
    if (this.#begins && (event.reset ?? event.retractedTo) !== null) {
      throw new Error("a state is told as a change");
    }
    if (begins) this.#rows.clear();
    else if (event.retractedTo !== null) this.#retract(event.retractedTo);
    this.#take(event, begins);
    this.#begins = false;
    this.cursor = event.cursor;
  }

  #take({ cursor, head, nodes = [], removed = [], whole }: AnyEvent, begins: boolean): void {
    switch (this.#field) {
      case "dexHead":
        this.#rows.clear();
        if (head !== null) this.#set([{ ...head }]);
        return;
      case "dexTrades":
        if (begins) this.#beganAfter = this.#newest = BigInt(cursor.split(".").at(-1) ?? "");
        if (begins && nodes.length > 0) throw new Error("trades came before a change");
        this.#addTrades(nodes);
        return;
      case "dexMarkets":
        for (const pair of removed) {
          if (!this.#rows.delete(pair)) throw new Error(`${pair} was removed, and never told`);
        }
        this.#set(nodes);
        return;
      case "dexCandles": {
        const first = nodes[0] === undefined ? undefined : textOf(nodes[0], "time");
        if (begins) this.#firstCandle = first ?? "";
        // A client that resumes at an empty block that is no longer recorded gets all from the block before it.
        else if (first !== undefined && first < this.#firstCandle) this.#firstCandle = first;
        this.#set(nodes);
        return;
      }
      case "dexBook":
        if (whole !== begins) throw new Error(`a book is told ${begins ? "in part" : "twice"}`);
        this.#set(nodes.filter((level) => level["offers"] !== 0));
        for (const gone of nodes.filter((level) => level["offers"] === 0)) {
          if (!this.#rows.delete(KEYS.dexBook(gone))) throw new Error("an unknown level is gone");
        }
    }
  }

  #set(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(KEYS[this.#field](row), row);
  }

  #addTrades(trades: readonly Row[]): void {
    for (const trade of trades) {
      const id = BigInt(textOf(trade, "id"));
      if (id <= this.#newest) throw new Error(`trade ${id} came after trade ${this.#newest}`);
      this.#newest = id;
    }
    this.#set(trades);
  }

  #retract({ time, trade }: NonNullable<SubscriptionEvent["retractedTo"]>): void {
    // The candle of the time, and those after it, are told again.
    const again = time === null ? "" : candleTime(startOf(time, this.#interval));
    for (const [key, row] of this.#rows) {
      const isVoid =
        this.#field === "dexTrades"
          ? BigInt(key) > BigInt(trade)
          : this.#field === "dexCandles" && textOf(row, "time") >= again;
      if (isVoid) this.#rows.delete(key);
    }
    if (again < this.#firstCandle) this.#firstCandle = again;
  }

  /** What differs from the rows of the tables, in words; undefined if nothing does. */
  differenceFrom(rows: readonly Row[]): string | undefined {
    const right = rows.filter((row) => this.#isSinceBegun(row));
    const found = textOfRows(this.#field, [...this.#rows.values()]);
    const wanted = textOfRows(this.#field, right);
    return found === wanted ? undefined : `is\n${found}\nand should be\n${wanted}`;
  }

  #isSinceBegun(row: Row): boolean {
    if (this.#field === "dexTrades") return BigInt(textOf(row, "id")) > this.#beganAfter;
    return this.#field !== "dexCandles" || textOf(row, "time") >= this.#firstCandle;
  }
}

/** In the form of GraphQL, which is ordered as a text. */
const candleTime = (time: string): string => time.replace("Z", "000+00:00");

/** In the order of the keys: changes do not name an order. */
const textOfRows = (field: Field, rows: readonly Row[]): string =>
  rows
    .map((row) => ({ key: KEYS[field](row), text: JSON.stringify(row) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ text }) => text)
    .join("\n");
