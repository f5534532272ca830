// A client of live data, whatever its transport: it follows topics, and gets what they are, what is void, and the end.
import type { Interval } from "../../../market/candle-intervals.ts";
import type { Truth } from "./live-truth.ts";

export const KINDS = ["head", "trades", "market", "summary", "candles", "book"] as const;
export type Kind = (typeof KINDS)[number];

/** A topic with its arguments, as a client asks for it. */
export interface Asked {
  kind: Kind;
  /** BASE/QUOTE; of all markets without it. */
  market?: string | undefined;
  /** Whose trades; subscriptions alone have these. */
  taker?: string | undefined;
  maker?: string | undefined;
  interval?: Interval;
  depth?: number;
}

/** Whether a client that comes back gets what it has missed, and not the state. */
export const isHistory = ({ kind }: Asked): boolean => kind === "trades" || kind === "candles";

/** As the transport has it. */
export type Row = Record<string, unknown>;

export type Moment = { block: number; time: string } | null;

/** What has changed of a topic. */
export interface Change {
  rows: readonly Row[];
  /** Markets that are gone, of which the client has a row. */
  removed?: readonly string[];
  /** Markets that have no row, whether the client has one or not. */
  absent?: readonly string[];
  /** Whether these are all levels of a book. */
  whole?: boolean;
}

export interface Update {
  event: "update";
  place: string;
  head: Moment;
  changes: ReadonlyMap<Asked, Change>;
  /** Whether this is a page that others follow. */
  more: boolean;
}

export interface Retract {
  event: "retract";
  /** Undefined where the update comes in one message with it. */
  place?: string | undefined;
  block: number | null;
  time: string | null;
  trade: number;
}

export type LiveEvent =
  Update | Retract | { event: "reset"; reason: string } | { event: "closed"; reason: string };

export interface LiveClient {
  /** The next event; undefined when there are no more. Rejects with `Refused` where the topics are refused. */
  next: () => Promise<LiveEvent | undefined>;
  /** The next update, whatever comes before it. */
  update: () => Promise<Update>;
  /** All events until the one that `isLast` accepts. */
  until: (isLast: (event: LiveEvent) => boolean) => Promise<LiveEvent[]>;
}

/** Why topics are refused: for what was asked, by a limit of the client, or because the service cannot serve them now. */
export class Refused extends Error {
  readonly why: "input" | "limit" | "unavailable";

  constructor(why: Refused["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** Of the last event where the service takes no connection. */
export const NO_CONNECTION = "no connection";

export interface Connection {
  /** Resolves when the service has taken it. */
  opened: Promise<unknown>;
  /** Several topics at once only if the transport carries many. */
  follow: (asked: readonly Asked[], after?: string) => LiveClient;
  /** Cuts it off. */
  close: () => void;
}

export interface Transport {
  name: string;
  connect: (url: string) => Connection;
  /** Whether all topics of a client come in the same events. */
  carriesMany: boolean;
  /** Whether a client that comes back names its place. Else it begins anew. */
  takesPlace: (asked: Asked) => boolean;
  /** The head as its events have it. */
  headOf: (truth: Truth) => Moment;
  /** The rows of a topic as its events have them; undefined if its market is not registered. */
  rowsOf: (asked: Asked, truth: Truth) => readonly Row[] | undefined;
}

export function clientOf(events: AsyncGenerator<LiveEvent, void>): LiveClient {
  const next = async (): Promise<LiveEvent | undefined> => (await events.next()).value ?? undefined;
  const until: LiveClient["until"] = async (isLast) => {
    const received: LiveEvent[] = [];
    for (;;) {
      const event = await next();
      if (event === undefined) throw new Error(`ended after ${JSON.stringify(received)}`);
      received.push(event);
      if (isLast(event)) return received;
    }
  };
  const update = async (): Promise<Update> =>
    (await until(({ event }) => event === "update")).at(-1) as Update;
  return { next, until, update };
}

/** The rows of all topics of an event. */
export const rowsIn = (event: LiveEvent | undefined): Row[] =>
  event?.event === "update" ? [...event.changes.values()].flatMap(({ rows }) => rows) : [];
