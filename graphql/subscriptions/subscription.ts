// The events of one execution: of a client that is alone, or of all that share it. Nothing is queued: the next event is
// read when the last one is taken, from the place that the clients have.
import { setTimeout as sleep } from "node:timers/promises";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import type { Pool } from "../../db/connect.ts";
import { follow, type Followed, type Line } from "../../market/live/changes.ts";
import type { Follower, Rounds, Turn } from "../../market/live/rounds.ts";
import { byHash } from "../../market/live/topic.ts";
import { isAhead, placeText, type Retraction } from "../../market/place.ts";
import type { FollowedTopics } from "./followed-topics.ts";
import type { LiveSnapshot } from "./live-snapshot.ts";
import { payloadOf, withTime, type Payload } from "./payload.ts";

/** A block, if there is one, and its time. */
interface Moment {
  block: number | null;
  time: string | null;
}

/** The fields that the events of all topics have. */
export interface SubscriptionEvent extends Payload {
  cursor: string;
  head: Moment | null;
  retractedTo: Retraction | null;
  /** Whether the client has not got all up to the head. */
  more: boolean;
  reset: string | null;
}

/** How many rows an event has, and how many candles a client may have missed. */
const resetText = (reason: NonNullable<Followed["reset"]>, page: number): string =>
  ({
    "another history":
      "the cursor is of another history or later than the head, or the labels of trades have changed",
    unrecorded: "the reorganisations since are no longer recorded",
    cut: `more than ${page - 1} candles are missing`,
  })[reason];

export interface Lag {
  /** How long a client waits whose cursor is later than the head, in milliseconds. */
  lagMs: number;
  /** Milliseconds between two looks at the data. */
  checkMs: number;
}

/** How far an execution has come. */
export interface Progress {
  /** What its clients have. */
  line: Line;
  /** The change of the data that was read; undefined before the last page, so that the next one is read at once. */
  change: number | undefined;
}

/** What the subscription's clients can take. */
export interface Flow {
  /** Whether so much waits for the client that no event is to be read for it. */
  readonly isFull: boolean;
  /** Resolves when the client has taken all that was sent before, or is gone. */
  drained: () => Promise<void>;
  /** Waits for its turn to read a large event. Resolves to the function that ends the turn. */
  alone: () => Promise<() => void>;
}

export interface SubscriptionOptions {
  rounds: Rounds<LiveSnapshot>;
  /** Whose it is; undefined for one that several clients share. */
  client: () => string | undefined;
  /** Whether the events of another one, which it goes on for, were quick. */
  isQuick?: boolean | undefined;
  /** What its document takes: a row of an event takes about as much. */
  complexity: number;
  lag: Lag;
  flow: Flow;
  /** Reads the place of a client that begins behind a block. */
  pool: Pool;
  /** Where it begins; without it, at the cursor or the block that the client gives, or at the head. */
  from?: Progress | "head";
  /** Gets each step when it is read; `hasEvent` is false for one that changes nothing for the clients. */
  onStep?: (progress: Progress, hasEvent: boolean) => void;
}

/** Without a reason, each abort would make an error with its stack. */
const GONE = "the client is gone";

/** grafast's `listen` subscribes to it, and takes it for a publisher. */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #gone = new AbortController();
  readonly #leave: () => void;
  readonly #follower: Follower;
  #asked = Promise.withResolvers<undefined>();
  #turn: Turn<LiveSnapshot> | undefined;
  #lagsUntil: number | undefined;
  #line: Line | undefined;
  /** Until the first event. */
  #findPlace: FollowedTopics["findPlace"];
  #change: number | undefined;
  #endAlone: (() => void) | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.#leave = options.rounds.join();
    const { client, isQuick, complexity: weight } = options;
    this.#follower = {
      get client() {
        return client();
      },
      isQuick,
      weight,
    };
    const { from = "head" } = options;
    if (from === "head") return;
    this.#line = from.line;
    this.#change = from.change;
  }

  /** Whether its last event was quick; undefined before the first. */
  get isQuick(): boolean | undefined {
    return this.#follower.isQuick;
  }

  /** Undefined before the first event. */
  get progress(): Progress | undefined {
    return this.#line && { line: this.#line, change: this.#change };
  }

  /** Resolves when the client has taken all events so far: then the next is read. */
  async ask(): Promise<void> {
    await this.#options.flow.drained();
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
    return this.#turn.snapshot.withPgClient(settings, callback);
  };

  /** Asked for by grafast, which reads ahead without a bound: so an event comes only after `ask`. */
  async *subscribe({
    after,
    findPlace,
    ...topics
  }: FollowedTopics & { page: number }): AsyncGenerator<SubscriptionEvent, undefined> {
    // The arguments of an execution that clients share have no place.
    if (this.#options.from === undefined) {
      this.#line = after && { place: after, states: new Map() };
      this.#findPlace = findPlace;
    }
    try {
      for (;;) {
        await this.#asked.promise;
        const event = await this.#next(topics);
        if (this.#gone.signal.aborted) return undefined;
        if (event !== undefined) {
          this.#asked = Promise.withResolvers();
          yield event;
        }
        this.#endTurn(event !== undefined);
      }
    } finally {
      this.#endTurn();
      this.#letNextRead();
    }
  }

  /** Waits for a change; undefined if it changes nothing for the client, or the client must wait. */
  async #next(topics: Topics): Promise<SubscriptionEvent | undefined> {
    const { rounds, flow, lag, pool } = this.#options;
    // The first event and pages of missed rows may be large.
    if (this.#change === undefined) this.#endAlone ??= await flow.alone();
    if (this.#findPlace !== undefined && !this.#gone.signal.aborted) {
      this.#line = { place: await this.#findPlace(pool, topics.page), states: new Map() };
      this.#findPlace = undefined;
    }
    const turn = await rounds.turn(this.#change, this.#gone.signal, this.#follower);
    this.#turn = turn;
    if (turn === undefined || this.#gone.signal.aborted) return undefined;
    if (flow.isFull) {
      this.#endTurn();
      await flow.drained();
      return undefined;
    }
    if (this.#isAhead(turn)) {
      this.#endTurn();
      this.#letNextRead();
      await sleep(lag.checkMs, undefined, { ref: false });
      return undefined;
    }
    return this.#read(topics, turn);
  }

  #letNextRead(): void {
    this.#endAlone?.();
    this.#endAlone = undefined;
  }

  /** Whether the client's place is later than this snapshot, as on a standby that lags: then it waits for a while. */
  #isAhead({ snapshot }: Turn<LiveSnapshot>): boolean {
    const { now } = snapshot.reading;
    const isAheadOf = this.#line !== undefined && isAhead(this.#line.place, now);
    if (!isAheadOf) this.#lagsUntil = undefined;
    else this.#lagsUntil ??= performance.now() + this.#options.lag.lagMs;
    return isAheadOf && performance.now() < (this.#lagsUntil ?? 0);
  }

  #endTurn(hadEvent = false): void {
    this.#turn?.end(hadEvent);
    this.#turn = undefined;
  }

  async #read(
    { kind, read, page }: Topics,
    { snapshot: { reading }, change }: Turn<LiveSnapshot>,
  ): Promise<SubscriptionEvent | undefined> {
    const topics = await read(reading);
    const line = this.#line;
    const bounds = { trades: page, candles: page };
    const step = await follow(reading, topics, { line, bounds, print: byHash });
    // The first event comes also where nothing has changed: the client learns its cursor.
    const isFirst = line === undefined || step.reset !== undefined || this.#change === undefined;
    const before = step.reset === undefined ? line?.states : undefined;
    const payload = payloadOf(kind, topics, step, before);
    const { place, states, retraction, more } = step;
    const hasEvent = isFirst || retraction !== undefined || payload.hasChanged;
    this.#line = { place, states };
    this.#change = more ? undefined : change;
    this.#options.onStep?.({ line: this.#line, change: this.#change }, hasEvent);
    if (!hasEvent) return undefined;
    return {
      cursor: placeText(place),
      head: place.time === null ? null : withTime(place),
      retractedTo: retraction === undefined ? null : withTime(retraction),
      more,
      reset: step.reset === undefined ? null : resetText(step.reset, page),
      ...payload,
    };
  }
}

type Topics = Omit<FollowedTopics, "after" | "findPlace"> & { page: number };
