// One subscription: events as its client takes them. Nothing is queued: the next event is read when the client has
// taken the last one, from the place that it has.
import { setTimeout as sleep } from "node:timers/promises";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import {
  isAhead,
  isBefore,
  placeText,
  readRetraction,
  readTimeOf,
  type CurrentPlace,
  type Place,
  type Retraction,
} from "../../http/live/place.ts";
import type { Reading, Rounds, Turn } from "./rounds.ts";

/** A block, if there is one, and its time. */
interface Moment {
  block: number | null;
  time: string | null;
}

/** With the time in the form of GraphQL's other times. */
const momentOf = <Given extends Moment>(given: Given): Given => ({
  ...given,
  time: given.time?.replace("Z", "000+00:00") ?? null,
});

/** What a client has of a topic. */
export interface Told<State> {
  /** The time of the last block that the client has and that stands; undefined without one. */
  time: string | undefined;
  /** Undefined if nothing that the client has is void. */
  retraction: Retraction | undefined;
  /** No trade that the client has has a greater id. */
  trade: number;
  /** Undefined for a client that comes back. */
  state: State | undefined;
}

/** What an event has beside its place. */
export interface Change<State> {
  payload: object;
  /** Whether there is an event, also where no block was taken back. */
  hasChanged: boolean;
  state: State;
  /** The end of the page, if more follows. */
  upTo?: CurrentPlace;
}

/** What a subscription follows. */
export interface Topic<State = unknown> {
  /** The place of a client that comes back. */
  after: Place | undefined;
  /** What a client begins with. */
  begin: (reading: Reading) => Promise<Change<State>>;
  /** What has changed, or why the client must begin anew. */
  goOn: (reading: Reading, told: Told<State>) => Promise<Change<State> | string>;
}

/** The fields that the events of all topics have. */
export interface LiveEvent {
  cursor: string;
  head: Moment | null;
  retractedTo: Retraction | null;
  /** Whether the client has not got all up to the head. */
  more: boolean;
  reset: string | null;
}

const ANOTHER_HISTORY =
  "the cursor is of another history or later than the head, or the labels of trades have changed";

/** An event, if there is one, and what the client has after it. */
interface Step {
  event: LiveEvent | undefined;
  place: CurrentPlace;
  state: unknown;
  isBehind: boolean;
}

export interface Lag {
  /** How long a client waits whose cursor is later than the head, in milliseconds. */
  lagMs: number;
  /** Milliseconds between two looks at the data. */
  checkMs: number;
}

/** What the subscription's client can take. */
export interface Flow {
  /** Whether so much waits for the client that no event is to be read for it. */
  readonly isFull: boolean;
  /** Resolves when the client has taken all that was sent before, or is gone. */
  drained: () => Promise<void>;
  /** Waits for its turn to read a large event. Resolves to the function that ends the turn. */
  alone: () => Promise<() => void>;
}

/** Without a reason, each abort would make an error with its stack. */
const GONE = "the client is gone";

/** grafast's `listen` subscribes to it, and takes it for a publisher. */
export class Subscription {
  readonly #rounds: Rounds;
  readonly #flow: Flow;
  readonly #gone = new AbortController();
  readonly #leave: () => void;
  #asked = Promise.withResolvers<undefined>();
  #turn: Turn | undefined;
  readonly #lag: Lag;
  #lagsUntil: number | undefined;
  #place: Place | undefined;
  #state: unknown;
  #change: number | undefined;
  #endAlone: (() => void) | undefined;

  constructor(rounds: Rounds, lag: Lag, flow: Flow) {
    this.#rounds = rounds;
    this.#lag = lag;
    this.#flow = flow;
    this.#leave = rounds.join();
  }

  /** Resolves when the client has taken all events so far: then the next is read. */
  async ask(): Promise<void> {
    await this.#flow.drained();
    this.#letNextRead();
    this.#asked.resolve(undefined);
  }

  /** Ends the subscription. A turn in use is released by `subscribe`. */
  close(): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(GONE);
    this.#letNextRead();
    this.#asked.resolve(undefined);
    this.#leave();
  }

  /** The database as the payload's plan sees it: the snapshot of the event. */
  readonly withPgClient: WithPgClient = (settings, callback) => {
    if (this.#turn === undefined)
      throw new Error("the payload of an event is planned after its end");
    return this.#turn.reading.withPgClient(settings, callback);
  };

  /** Asked for by grafast, which reads ahead without a bound: so an event comes only after `ask`. */
  async *subscribe(topic: Topic): AsyncGenerator<LiveEvent, undefined> {
    this.#place = topic.after;
    try {
      for (;;) {
        await this.#asked.promise;
        const event = await this.#next(topic);
        if (this.#gone.signal.aborted) return undefined;
        if (event !== undefined) {
          this.#asked = Promise.withResolvers();
          yield event;
        }
        this.#endTurn();
      }
    } finally {
      this.#endTurn();
      this.#letNextRead();
    }
  }

  /** Waits for a change; undefined if the client is told nothing of it, or cannot be told yet. */
  async #next(topic: Topic): Promise<LiveEvent | undefined> {
    // The first event and pages of missed rows may be large.
    if (this.#change === undefined) this.#endAlone ??= await this.#flow.alone();
    const turn = await this.#rounds.turn(this.#change, this.#gone.signal);
    this.#turn = turn;
    if (turn === undefined || this.#gone.signal.aborted) return undefined;
    if (this.#flow.isFull) {
      this.#endTurn();
      await this.#flow.drained();
      return undefined;
    }
    if (this.#isAhead(turn)) {
      this.#endTurn();
      this.#letNextRead();
      await sleep(this.#lag.checkMs, undefined, { ref: false });
      return undefined;
    }
    const { event, place, state, isBehind } = await this.#read(topic, turn.reading);
    this.#place = place;
    this.#state = state;
    this.#change = isBehind ? undefined : turn.change;
    return event;
  }

  #letNextRead(): void {
    this.#endAlone?.();
    this.#endAlone = undefined;
  }

  /** Whether the client's place is later than this snapshot, as on a standby that lags: then it waits for a while. */
  #isAhead({ reading }: Turn): boolean {
    const isAheadOf = this.#place !== undefined && isAhead(this.#place, reading.now);
    if (!isAheadOf) this.#lagsUntil = undefined;
    else this.#lagsUntil ??= performance.now() + this.#lag.lagMs;
    return isAheadOf && performance.now() < (this.#lagsUntil ?? 0);
  }

  #endTurn(): void {
    this.#turn?.end();
    this.#turn = undefined;
  }

  async #read(topic: Topic, reading: Reading): Promise<Step> {
    const { now } = reading;
    const since = this.#place;
    if (since === undefined) return stepOf(now, await topic.begin(reading), { isFirst: true });
    const changed = await this.#changed(topic, reading, since);
    if (typeof changed === "string") {
      return stepOf(now, await topic.begin(reading), { isFirst: true, reset: changed });
    }
    const isFirst = this.#change === undefined;
    return stepOf(now, changed.change, { isFirst, retraction: changed.retraction });
  }

  async #changed(topic: Topic, reading: Reading, since: Place) {
    const { db, now } = reading;
    if (!isBefore(since, now)) return ANOTHER_HISTORY;
    const text = placeText(since);
    const found = await reading.once(`retraction ${text}`, () => readRetraction(db, since, now));
    if (found === "unknown") return "the reorganisations since are no longer recorded";
    const retraction = found === "none" ? undefined : found;
    const time = retraction
      ? (retraction.time ?? undefined)
      : await reading.once(`time ${since.block}`, () => readTimeOf(db, since.block));
    const { trade } = since;
    const change = await topic.goOn(reading, { time, retraction, trade, state: this.#state });
    return typeof change === "string" ? change : { change, retraction };
  }
}

interface Circumstances {
  /** The first event comes also where nothing has changed: the client learns its cursor. */
  isFirst: boolean;
  retraction?: Retraction | undefined;
  reset?: string;
}

function stepOf(
  now: CurrentPlace,
  { payload, hasChanged, state, upTo }: Change<unknown>,
  { isFirst, retraction, reset }: Circumstances,
): Step {
  const place = upTo ?? now;
  const { time } = place;
  const step = { place, state, isBehind: upTo !== undefined };
  if (!isFirst && !hasChanged && retraction === undefined) {
    return { ...step, event: undefined };
  }
  const event = {
    cursor: placeText(place),
    head: time === null ? null : momentOf(place),
    retractedTo: retraction === undefined ? null : momentOf(retraction),
    more: step.isBehind,
    reset: reset ?? null,
    ...payload,
  };
  return { ...step, event };
}
