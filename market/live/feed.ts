// Followers of the same topics at the same head share their messages. Each change of the data is read once, in one
// snapshot, for all topics that anybody follows.
import type { Pool } from "../../db/connect.ts";
import type { VersionPoll } from "../version-poll.ts";
import { isAhead, placeText, type CurrentPlace, type Place } from "../place.ts";
import { isUnreachable } from "../../db/failure.ts";
import { findPairs } from "../queries/pairs.ts";
import { inSnapshot, type PairName } from "../queries/snapshot.ts";
import { concrete, unlike, type AskedTopic } from "./asked-topics.ts";
import { begin, changesSince, type Step } from "./changes.ts";
import { clientByClient } from "./client-turns.ts";
import { eventsOf, type LiveEvent } from "./events.ts";
import { MissedPages, type Page, type PageReader } from "./missed-pages.ts";
import { readingOf } from "./reading.ts";
import { byData, type Bounds, type Reading, type Row, type States, type Topic } from "./topic.ts";

export interface Follower<Message> extends PageReader {
  send: (messages: readonly Message[]) => void;
  /** Ends the stream: the client resumes at its place, in pages. */
  fallBehind: () => void;
}

/** Those that follow the same topics. */
interface Group<Message> {
  asked: readonly AskedTopic[];
  topics: Topic[];
  followers: Set<Follower<Message>>;
}

interface Joining<Message> {
  /** Those with the same key get the same first messages. */
  key: string;
  asked: readonly AskedTopic[];
  since: Place | undefined;
  follower: Follower<Message>;
  resolve: (joined: Joined) => void;
  reject: (error: unknown) => void;
}

/** Else the client misses more than an event may have, or its place is later than the head. */
export type Joined = "follows" | "behind" | "ahead";

type Start<Message> = Message[] | Exclude<Joined, "follows">;

/** How many different starts are read before the next change is sent to those that follow. */
const MAX_STARTS = 20;

/** Milliseconds after which a reading reads no further start. */
const STARTS_MS = 250;

export interface FeedOptions<Message> {
  /** Its statements wait for no client's. */
  pool: Pool;
  /** For what single clients ask. */
  clientPool: Pool;
  poll: VersionPoll;
  /** Of a page. */
  bounds: Bounds;
  /** Followers of a database that has grown by more trades at once get them in pages. */
  maxTrades: number;
  messageOf: (event: LiveEvent) => Message;
}

/** What all followers have. */
interface Shared {
  place: CurrentPlace;
  states: States;
}

export class Feed<Message> {
  readonly #options: FeedOptions<Message>;
  readonly #groups = new Map<string, Group<Message>>();
  readonly #missed: MissedPages<Message>;
  #joining: Joining<Message>[] = [];
  #pairs: PairName[] = [];
  #line: Shared | undefined;
  #unfollow: (() => void) | undefined;
  #reading: Promise<void> = Promise.resolve();
  /** The reading that begins after the one in flight. */
  #queued: Promise<void> | undefined;

  constructor(options: FeedOptions<Message>) {
    this.#options = options;
    this.#missed = new MissedPages(options);
  }

  /** The markets that were registered at the last reading. */
  get pairs(): readonly PairName[] {
    return this.#pairs;
  }

  /**
   * Sends the follower the events after `since`, or without it what its topics are now, and then what changes.
   * A follower that is behind or ahead gets nothing.
   */
  async join(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    follower: Follower<Message>,
  ): Promise<Joined> {
    const { promise, resolve, reject } = Promise.withResolvers<Joined>();
    const key = `${keyOfAll(asked)} ${since === undefined ? "" : placeText(since)}`;
    this.#joining.push({ key, asked, since, follower, resolve, reject });
    // The promise of this follower rejects too.
    this.#next().catch(() => undefined);
    return promise;
  }

  leave(follower: Follower<Message>): void {
    for (const [key, { followers }] of this.#groups) {
      if (followers.delete(follower) && followers.size === 0) this.#groups.delete(key);
    }
    if (this.#groups.size === 0) this.#forget();
  }

  /** The pages that a client has missed, until it is gone; `join` sends the last. */
  pages(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    follower: Follower<Message>,
  ): AsyncGenerator<Page<Message>> {
    return this.#missed.after(asked, since, follower);
  }

  /** Without followers no change is read, so what was sent is soon of an old head. */
  #forget(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#line = undefined;
    this.#pairs = [];
  }

  /** One reading after the other; followers that join during one share the next. */
  #next(): Promise<void> {
    this.#queued ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#queued = undefined;
        this.#reading = this.#read();
        return this.#reading;
      });
    return this.#queued;
  }

  async #read(): Promise<void> {
    const joining = clientByClient(this.#joining.splice(0), ({ follower }) => follower.client);
    const starts = Map.groupBy(joining, ({ key }) => key);
    try {
      await inSnapshot(this.#options.pool, async (db) => {
        const reading = await readingOf(db);
        // A pair may be registered without a new block.
        const pairs = (await findPairs(db)).rows;
        this.#pairs = pairs;
        for (const group of this.#groups.values()) group.topics = concrete(group.asked, pairs);
        const states = await this.#sendChanges(reading);
        await this.#sendStarts(reading, starts, { pairs, states });
        if (this.#groups.size === 0) this.#forget();
      });
    } catch (error) {
      starts.clear();
      for (const { reject } of [...joining, ...this.#joining.splice(0)]) reject(error);
      throw error;
    } finally {
      // Those that are left are before those that came later.
      this.#joining.unshift(...joining.filter(({ key }) => starts.has(key)));
      if (this.#joining.length > 0) this.#next().catch(() => undefined);
    }
  }

  /** Sends what has changed to those that follow. Returns the states of their topics. */
  async #sendChanges(reading: Reading): Promise<Map<string, readonly Row[]>> {
    const { now } = reading;
    const { maxTrades } = this.#options;
    if (this.#line !== undefined && now.trade - this.#line.place.trade > maxTrades) {
      this.#drop([...this.#groups.values()].flatMap(({ followers }) => [...followers]));
    }
    // The last follower may leave while the changes are read, and then the line is forgotten.
    const line = this.#line;
    if (line === undefined) return new Map();
    const groups = [...this.#groups.values()];
    const step = await this.#step(reading, unlike(groups.flatMap(({ topics }) => topics)), line);
    for (const { topics: own, followers } of groups) {
      if (own.some(({ name }) => step.cut.has(name))) {
        this.#drop([...followers]);
        continue;
      }
      const { trade } = line.place;
      const events = step.isVoid
        ? [RESET, ...eventsOf(step, own, { trade, isFirst: true })]
        : eventsOf(step, own, { trade });
      const messages = events.map(this.#options.messageOf);
      if (messages.length > 0) for (const follower of followers) follower.send(messages);
    }
    const states = new Map(step.states);
    if (this.#groups.size > 0) this.#line = { place: now, states };
    return states;
  }

  /** Takes the first starts, and sends each to all that begin with it. */
  async #sendStarts(
    reading: Reading,
    starts: Map<string, Joining<Message>[]>,
    { pairs, states }: { pairs: readonly PairName[]; states: Map<string, readonly Row[]> },
  ): Promise<void> {
    const until = performance.now() + STARTS_MS;
    for (const [key, all] of [...starts].slice(0, MAX_STARTS)) {
      const joining = all.filter(({ follower }) => !follower.isClosed());
      const [first] = joining;
      const topics = concrete(first?.asked ?? [], pairs);
      const start = first
        ? await this.#start(reading, topics, first.since, states).catch(refuse(all))
        : [];
      starts.delete(key);
      // The snapshot has ended with its statement: the next one has the others.
      if (start === undefined) return;
      if (typeof start !== "string") {
        for (const each of joining) {
          this.#add(each, topics);
          this.#line = { place: reading.now, states };
          each.follower.send(start);
        }
      }
      for (const { resolve } of all) resolve(typeof start === "string" ? start : "follows");
      if (performance.now() > until) return;
    }
  }

  /** What has changed for those that follow, and the states of all topics. */
  async #step(
    reading: Reading,
    topics: readonly Topic[],
    line: Shared,
  ): Promise<Step & { isVoid: boolean }> {
    const hasMoved = placeText(line.place) !== placeText(reading.now);
    // A registration changes the market's record without a new block.
    const read = hasMoved
      ? topics
      : topics.filter(({ kind, name }) => kind.isOfRegistry === true || !line.states.has(name));
    const bounds = { ...this.#options.bounds, trades: this.#options.maxTrades };
    const step = await changesSince(reading, read, { line, bounds, print: byData });
    if (typeof step === "string") return { ...(await begin(reading, topics)), isVoid: true };
    const stateOf = (name: string) => step.states.get(name) ?? line.states.get(name) ?? [];
    const states = new Map(topics.map(({ name }) => [name, stateOf(name)]));
    return { ...step, states, isVoid: false };
  }

  #drop(followers: readonly Follower<Message>[]): void {
    for (const follower of followers) {
      this.leave(follower);
      follower.fallBehind();
    }
  }

  #add({ asked, follower }: Joining<Message>, topics: Topic[]): void {
    const key = keyOfAll(asked);
    const group = this.#groups.get(key) ?? { asked, topics, followers: new Set() };
    group.followers.add(follower);
    this.#groups.set(key, group);
    this.#unfollow ??= this.#options.poll.follow(() => this.#next());
  }

  /** The first messages of a follower that joins, or why it cannot join yet; adds the states of its topics. */
  async #start(
    reading: Reading,
    topics: readonly Topic[],
    since: Place | undefined,
    states: Map<string, readonly Row[]>,
  ): Promise<Start<Message>> {
    if (since !== undefined && isAhead(since, reading.now)) return "ahead";
    const first = await this.#missed.read(reading, topics, since, states);
    if (first.more) return "behind";
    const unread = topics.filter(({ name }) => !states.has(name));
    // Of candles the last one alone, and not all that the client has missed.
    const present = await begin(reading, unread, first.states);
    for (const { name } of unread) states.set(name, present.states.get(name) ?? []);
    const { trade } = since ?? reading.now;
    const events = eventsOf(first, topics, { trade, isFirst: true });
    if (first.reset !== undefined) events.unshift({ event: "reset", reason: first.reset });
    return events.map(this.#options.messageOf);
  }
}

/** What one start asked for can fail it, as by its time: then those of the others go on. */
const refuse =
  (joining: readonly Joining<never>[]) =>
  (error: unknown): undefined => {
    if (isUnreachable(error)) throw error;
    for (const { reject } of joining) reject(error);
  };

const RESET: LiveEvent = { event: "reset", reason: "changed" };

const keyOfAll = (asked: readonly AskedTopic[]): string =>
  asked
    .map(({ name }) => name)
    .sort()
    .join(",");
