// Followers of the same topics at the same head share their messages. Each change of the data is read once, in one
// snapshot, for all topics that anybody follows.
import type { Pool } from "../../db/connect.ts";
import type { VersionPoll } from "../version-poll.ts";
import { isAhead, placeText, type CurrentPlace, type Place } from "../place.ts";
import { findPairs } from "../queries/pairs.ts";
import { inSnapshot, type PairName } from "../queries/snapshot.ts";
import { concrete, unlike, type AskedTopic } from "./asked-topics.ts";
import { begin, changesSince, type Step } from "./changes.ts";
import { eventsOf, type LiveEvent } from "./events.ts";
import { MissedPages, type Page } from "./missed-pages.ts";
import { readingOf } from "./reading.ts";
import { byData, type Bounds, type Reading, type States, type Topic } from "./topic.ts";

export interface Follower<Message> {
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

type Joiner<Message> = Joining<Message> & { topics: Topic[] };

/** Else the client misses more than an event may have, or its place is later than the head. */
export type Joined = "follows" | "behind" | "ahead";

type Start<Message> = Message[] | Exclude<Joined, "follows">;

/** How many different starts are read before the next change is sent to those that follow. */
const MAX_STARTS = 20;

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
    isGone: () => boolean,
  ): AsyncGenerator<Page<Message>> {
    return this.#missed.after(asked, since, isGone);
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
    const joining = this.#nextJoining();
    try {
      await inSnapshot(this.#options.pool, async (db) => {
        const reading = await readingOf(db);
        // A pair may be registered without a new block.
        this.#pairs = (await findPairs(db)).rows;
        for (const group of this.#groups.values()) {
          group.topics = concrete(group.asked, this.#pairs);
        }
        await this.#send(reading, joining);
      });
    } catch (error) {
      for (const { reject } of [...joining, ...this.#joining.splice(0)]) reject(error);
      throw error;
    } finally {
      if (this.#joining.length > 0) this.#next().catch(() => undefined);
    }
  }

  /** The first of those that join, and all that get the same events as one of them. */
  #nextJoining(): Joining<Message>[] {
    const keys = new Set(this.#joining.slice(0, MAX_STARTS).map(({ key }) => key));
    const { next = [], later = [] } = Object.groupBy(this.#joining, ({ key }) =>
      keys.has(key) ? "next" : "later",
    );
    this.#joining = later;
    return next;
  }

  async #send(reading: Reading, joining: readonly Joining<Message>[]): Promise<void> {
    const { now } = reading;
    const { maxTrades } = this.#options;
    if (this.#line !== undefined && now.trade - this.#line.place.trade > maxTrades) {
      this.#drop([...this.#groups.values()].flatMap(({ followers }) => [...followers]));
    }
    // The last follower may leave while the changes are read, and then the line is forgotten.
    const line = this.#line;
    const joiners = joining.map((each) => ({ ...each, topics: concrete(each.asked, this.#pairs) }));
    const groups = [...this.#groups.values()];
    const topics = unlike([...groups, ...joiners].flatMap((each) => each.topics));
    const step = await this.#step(reading, topics, line);
    const starts = await this.#startsOf(reading, joiners, step.states);

    for (const { topics: own, followers } of groups) {
      // A line that is new has no followers.
      if (line === undefined) continue;
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
    this.#line = { place: now, states: step.states };
    for (const [n, joiner] of joiners.entries()) {
      const start = starts[n] ?? "behind";
      if (typeof start === "string") {
        joiner.resolve(start);
        continue;
      }
      this.#add(joiner);
      joiner.follower.send(start);
      joiner.resolve("follows");
    }
    if (this.#groups.size === 0) this.#forget();
  }

  /** What has changed for those that follow, and the states of all topics. */
  async #step(
    reading: Reading,
    topics: readonly Topic[],
    line: Shared | undefined,
  ): Promise<Step & { isVoid: boolean }> {
    if (line === undefined) return { ...(await begin(reading, topics)), isVoid: false };
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

  #add({ asked, topics, follower }: Joiner<Message>): void {
    const key = keyOfAll(asked);
    const group = this.#groups.get(key) ?? { asked, topics, followers: new Set() };
    group.followers.add(follower);
    this.#groups.set(key, group);
    this.#unfollow ??= this.#options.poll.follow(() => this.#next());
  }

  /** The first messages of each follower that joins, or why it cannot join yet. */
  async #startsOf(
    reading: Reading,
    joiners: readonly Joiner<Message>[],
    states: States,
  ): Promise<(Start<Message> | undefined)[]> {
    const starts = new Map<string, Start<Message>>();
    for (const { key, topics, since } of joiners) {
      if (!starts.has(key)) starts.set(key, await this.#start(reading, topics, since, states));
    }
    return joiners.map(({ key }) => starts.get(key));
  }

  async #start(
    reading: Reading,
    topics: readonly Topic[],
    since: Place | undefined,
    states: States,
  ): Promise<Start<Message>> {
    if (since !== undefined && isAhead(since, reading.now)) return "ahead";
    const first = await this.#missed.read(reading, topics, since, states);
    if (first.more) return "behind";
    const { trade } = since ?? reading.now;
    const events = eventsOf(first, topics, { trade, isFirst: true });
    if (first.reset !== undefined) events.unshift({ event: "reset", reason: first.reset });
    return events.map(this.#options.messageOf);
  }
}

const RESET: LiveEvent = { event: "reset", reason: "changed" };

const keyOfAll = (asked: readonly AskedTopic[]): string =>
  asked
    .map(({ name }) => name)
    .sort()
    .join(",");
