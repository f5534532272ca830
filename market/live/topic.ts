// What a topic is: each kind is declared once, and the event stream and GraphQL's subscriptions carry it.
import type { z } from "zod";
import type { Database } from "../../db/connect.ts";
import type { CurrentPlace } from "../place.ts";
import type { PairName } from "../queries/snapshot.ts";

/** A topic of one market, or one that names none. */
export interface Topic {
  kind: TopicKind;
  /** Equal topics have equal names. */
  name: string;
  pair?: PairName | undefined;
  argument?: string | number | undefined;
  /** Whose trades: an address, in each letter case in which it may be recorded. */
  taker?: readonly string[] | undefined;
  maker?: readonly string[] | undefined;
}

/** What a topic has at a head. */
export interface Row {
  /** Identifies the row within its kind. */
  key: string;
  /** Of all columns, also of those that `data` lacks. */
  hash: string;
  /** The record that REST has of it. */
  data: object;
}

/** By the names of topics. */
export type States = ReadonlyMap<string, readonly Row[]>;

export interface Change {
  /** Whether `rows` replace what a client has. */
  isWhole: boolean;
  /** Those that are new or have changed. */
  rows: readonly Row[];
  /** Those that are gone, as they were. */
  gone: readonly Row[];
}

/** What a client has already. */
export interface Since {
  /** The greatest id of a trade. */
  trade: number;
  /** The time of the last block that stands, in ISO 8601; undefined without one. */
  time: string | undefined;
}

/** The snapshot of a change. */
export interface Reading {
  /** Runs its statements one by one. */
  db: Database;
  now: CurrentPlace;
  /** Whether followers read from it one by one: then rows of all markets are read once for all of them. */
  isOneByOne: boolean;
  /** Reads once what several followers ask for under one key; `of` is a list that they share. */
  once: <Value>(key: string, read: () => Promise<Value>, of?: object) => Promise<Value>;
}

/** What a follower gets at most at once. */
export interface Bounds {
  /** Trades, unless one block has more. */
  trades: number;
  /** A follower that has missed as many candles begins anew. */
  candles: number;
}

export interface Span {
  /** Undefined for what a client begins with. */
  since: Since | undefined;
  /** The head, or the end of the page that is read. */
  upTo: CurrentPlace;
  bounds: Bounds;
}

export interface Found {
  states: States;
  /** The end of the page. */
  upTo?: CurrentPlace;
}

/** What follows the market in a topic's name. */
export interface TopicArgument {
  /** As the list of topics shows it. */
  shown: string;
  accepted: string;
  /** What is wrong with another one. */
  problem: string;
  /** Undefined where the text is not accepted. */
  read: (text: string) => string | number | undefined;
}

/** How GraphQL carries the topic: a field of Subscription, and the type of its events. */
export interface TopicField {
  name: string;
  event: string;
  /** What an event has. */
  about: string;
  /** What the field does. */
  does: string;
  /** How the arguments name markets: a list, one that may be left out, or one that is required. */
  market?: "pairs" | "market" | "base/quote";
  /** The name of the kind's argument. */
  argument?: string;
  /** SDL of arguments; `page` is how many rows an event has. */
  arguments?: string;
  /** SDL of what an event has beside its place. */
  members?: (page: number) => string;
  /** SDL of types that these name. */
  types?: string;
  /** Where `nodes` come from: rows of a relation by their key, candles from the first one, or the rows' data. */
  nodes?: { of: string; key: string; type: "text" | "bigint" } | "candles" | "data";
}

export interface TopicKind {
  name: string;
  /** Whether a topic names a market, may also name all, or names none. */
  markets: "none" | "one" | "one or all";
  argument?: TopicArgument;
  /** Whether a client that comes back gets the rows that it has missed, and not the state. */
  isHistory?: boolean;
  /** Whether a registration changes it without a new block. */
  isOfRegistry?: boolean;
  /** More rows are not read, and the follower begins anew. */
  bound?: "candles";
  /** By the topics' names. Without `since`, what a client needs to begin. */
  read: (reading: Reading, topics: readonly Topic[], span: Span) => Promise<Found>;
  /** What clients get for a row that is gone. */
  goneRow?: (row: Row) => Row;
  /** The data of the event stream. */
  data: (change: Change) => unknown;
  /** How OpenAPI describes them. */
  schema: z.ZodType;
  field: TopicField;
}

/** The topic of one market. Symbols are any text, so they are percent-encoded where they have one of these letters. */
export function topicOf(kind: TopicKind, pair?: PairName, argument?: string | number): Topic {
  const market = pair && `${encoded(pair.base)}/${encoded(pair.quote)}`;
  const name = [kind.name, market, argument].filter((part) => part !== undefined).join(":");
  return { kind, name, pair, argument };
}

const encoded = (symbol: string): string =>
  symbol.replaceAll(/[%/,:]/g, (letter) => encodeURIComponent(letter));

/** The market of a topic as the keys of REST's lists have it. */
export const keyOf = ({ pair }: Topic): string =>
  pair === undefined ? "" : `${pair.base}/${pair.quote}`;

/** What distinguishes rows: the record that a client gets, or all columns. */
export type Print = (row: Row) => string;

export const byData: Print = ({ data }) => JSON.stringify(data);
export const byHash: Print = ({ hash }) => hash;

/** Undefined where nothing has changed. */
export function changeOf(
  kind: TopicKind,
  before: readonly Row[],
  now: readonly Row[],
  print: Print,
): Change | undefined {
  if (before === now) return undefined;
  const known = new Map(before.map((row) => [row.key, row]));
  const rows = now.filter((row) => {
    const old = known.get(row.key);
    if (old === undefined) return true;
    // To print a record takes longer.
    const isSame = old === row || (row.hash !== "" && row.hash === old.hash);
    return !isSame && print(old) !== print(row);
  });
  for (const { key } of now) known.delete(key);
  // What a history has no longer was taken back, or is not of this page.
  const gone = kind.isHistory === true ? [] : [...known.values()];
  if (rows.length + gone.length === 0) return undefined;
  const { goneRow } = kind;
  return { isWhole: false, rows: goneRow ? [...gone.map(goneRow), ...rows] : rows, gone };
}
