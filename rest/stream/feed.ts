// Tells all streams of the process what has changed. Each change of the data is read once, in one snapshot, for
// all topics that a client follows.
import type { Database, Pool } from "../../db/connect.ts";
import type { DataWatch } from "../../server/http/live/data-watch.ts";
import {
  isAhead,
  isBefore,
  placeText,
  readPlace,
  readRetraction,
  type CurrentPlace,
  type Place,
  type Retraction,
} from "../../server/http/live/place.ts";
import type { PairName } from "../params.ts";
import { findPair, findPairs } from "../queries/pairs.ts";
import { inSnapshot } from "../queries/snapshot.ts";
import type { Frame } from "./frame.ts";
import { eventsOf, readMissed, resetOf, retractOf, updateOf, wholesOf } from "./resume.ts";
import { MAX_CANDLES, readStates, TOPIC_KINDS, type Since } from "./topic-kinds.ts";
import { BadTopics, shown, topicOf, type AskedTopic, type Topic } from "./topics.ts";

export interface Follower {
  tell: (frames: readonly Frame[]) => void;
  /** Ends the stream: the client resumes at its place, in pages. */
  fallBehind: () => void;
}

/** Clients that follow the same topics get the same events. */
interface Group {
  asked: readonly AskedTopic[];
  topics: Topic[];
  followers: Set<Follower>;
}

interface Joining {
  /** Those with the same key get the same first events. */
  key: string;
  asked: readonly AskedTopic[];
  since: Place | undefined;
  follower: Follower;
  resolve: (joined: Joined) => void;
  reject: (error: unknown) => void;
}

/** Else the client misses more than an event may have, or its place is later than the head. */
export type Joined = "follows" | "behind" | "ahead";

/** Followers of a database that has grown by more than this at once get it in pages. */
const MAX_TRADES = 10_000;

/** How many different starts are read before the next change is told to those that follow. */
const MAX_STARTS = 20;

const MAX_PAGES_IN_FLIGHT = 2;

interface Page {
  place: Place;
  frames: Frame[];
}

interface FeedOptions {
  /** Its statements wait for no client's. */
  pool: Pool;
  /** For what single clients ask. */
  clientPool: Pool;
  watch: DataWatch;
  pageTrades: number;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #groups = new Map<string, Group>();
  #joining: Joining[] = [];
  #pairs: PairName[] = [];
  /** What the followers have been told. */
  #told: CurrentPlace | undefined;
  #states: ReadonlyMap<string, unknown> = new Map();
  #unfollow: (() => void) | undefined;
  #reading: Promise<void> = Promise.resolve();
  readonly #pagesInFlight = new Set<Promise<unknown>>();
  /** The reading that begins after the one in flight. */
  #queued: Promise<void> | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** The topics with the symbols as registered. Throws BadTopics for a market that is not registered. */
  async resolve(asked: readonly AskedTopic[]): Promise<AskedTopic[]> {
    const problems: string[] = [];
    const resolved = new Map<string, AskedTopic>();
    for (const topic of asked) {
      const found = topic.pair === "*" ? topic : await this.#registered(topic);
      if (found === undefined) problems.push(`${shown(topic.name)} has an unknown market`);
      else resolved.set(found.name, found);
    }
    if (problems.length > 0) throw new BadTopics(problems);
    return [...resolved.values()];
  }

  async #registered(topic: Topic): Promise<Topic | undefined> {
    const { kind, pair } = topic;
    const isKnown = ({ base, quote }: PairName): boolean =>
      base === pair?.base && quote === pair.quote;
    if (pair === undefined || this.#pairs.some(isKnown)) return topic;
    const [row] = (await findPair(this.#options.clientPool, pair)).rows;
    return row && topicOf(kind, row, topic);
  }

  /**
   * Tells the follower the events after `since`, or without it what its topics are now, and then what changes.
   * A follower that is behind or ahead is told nothing.
   */
  async join(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    follower: Follower,
  ): Promise<Joined> {
    const { promise, resolve, reject } = Promise.withResolvers<Joined>();
    const key = `${keyOfAll(asked)} ${since === undefined ? "" : placeText(since)}`;
    this.#joining.push({ key, asked, since, follower, resolve, reject });
    // The promise of this follower rejects too.
    this.#next().catch(() => undefined);
    return promise;
  }

  leave(follower: Follower): void {
    for (const [key, { followers }] of this.#groups) {
      if (followers.delete(follower) && followers.size === 0) this.#groups.delete(key);
    }
    if (this.#groups.size === 0) this.#forget();
  }

  /** Without followers no change is read, so what was told is soon of an old head. */
  #forget(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#told = undefined;
    this.#states = new Map();
    this.#pairs = [];
  }

  /** Reads the pages that a client has missed, until it is gone; `join` tells the last. */
  async *pages(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    isGone: () => boolean,
  ): AsyncGenerator<Page> {
    for (let from = since; from !== undefined;) {
      const page = await this.#inTurn(async () => {
        return isGone() || from === undefined ? undefined : this.#readPage(asked, from);
      });
      if (page === undefined) return;
      yield page;
      from = page.place;
    }
  }

  /** Pages of old places are large: more of them at once would take REST's connections. */
  async #inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    while (this.#pagesInFlight.size >= MAX_PAGES_IN_FLIGHT) {
      await Promise.race(this.#pagesInFlight).catch(() => undefined);
    }
    const reading = read();
    this.#pagesInFlight.add(reading);
    return reading.finally(() => this.#pagesInFlight.delete(reading));
  }

  async #readPage(asked: readonly AskedTopic[], since: Place): Promise<Page | undefined> {
    return inSnapshot(this.#options.clientPool, async (db) => {
      const topics = concrete(asked, (await findPairs(db)).rows);
      const now = await readPlace(db);
      const missed = await readMissed(db, topics, since, now, this.#options.pageTrades);
      if (typeof missed === "string" || !missed.more) return undefined;
      return { place: missed.place, frames: eventsOf(missed, topics) };
    });
  }

  /** One reading after the other; who comes meanwhile shares the next. */
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
        const now = await readPlace(db);
        // A pair may be registered without a new block.
        this.#pairs = (await findPairs(db)).rows;
        for (const group of this.#groups.values()) {
          group.topics = concrete(group.asked, this.#pairs);
        }
        await this.#tell(db, now, joining);
      });
    } catch (error) {
      for (const { reject } of [...joining, ...this.#joining.splice(0)]) reject(error);
      throw error;
    } finally {
      if (this.#joining.length > 0) this.#next().catch(() => undefined);
    }
  }

  /** The first of those that join, and all that get the same events as one of them. */
  #nextJoining(): Joining[] {
    const keys = new Set(this.#joining.slice(0, MAX_STARTS).map(({ key }) => key));
    const { next = [], later = [] } = Object.groupBy(this.#joining, ({ key }) =>
      keys.has(key) ? "next" : "later",
    );
    this.#joining = later;
    return next;
  }

  async #tell(db: Database, now: CurrentPlace, joining: readonly Joining[]): Promise<void> {
    if (this.#told !== undefined && now.trade - this.#told.trade > MAX_TRADES) this.#dropAll();
    // The last follower may leave while the changes are read, and all of these are forgotten.
    const before = this.#told;
    const known = this.#states;
    const joiners = joining.map((each) => ({ ...each, topics: concrete(each.asked, this.#pairs) }));
    const hasMoved = before === undefined || placeText(before) !== placeText(now);
    const groups = [...this.#groups.values()];
    const followed = groups.flatMap(({ topics }) => topics);
    const joined = joiners.flatMap((each) => each.topics);
    const topics = [...new Map([...followed, ...joined].map((each) => [each.name, each])).values()];
    const found =
      before !== undefined && isBefore(before, now)
        ? await readRetraction(db, before, now)
        : "unknown";
    const isNew = before === undefined || found === "unknown";
    const retraction = typeof found === "object" ? found : undefined;
    const since: Since | undefined = isNew
      ? undefined
      : { trade: before.trade, time: (retraction ?? before).time ?? undefined };
    // A registration changes the market's record without a new block.
    const read = hasMoved
      ? topics
      : topics.filter(({ kind, name }) => kind === "market" || !known.has(name));
    const fresh = await readStates(db, read, now, since);
    const states = new Map(
      topics.map(({ name }) => [name, (fresh.has(name) ? fresh : known).get(name)]),
    );

    const changes = isNew ? NO_CHANGES : changesOf(read, known, states, retraction);
    const starts = await this.#startsOf(db, now, joiners, states);

    for (const { topics: own, followers } of groups) {
      if (own.some(({ kind, name }) => kind === "candles" && isCut(fresh.get(name)))) {
        this.#drop([...followers]);
        continue;
      }
      // Nobody follows yet where nothing has been told.
      const frames =
        before === undefined
          ? []
          : framesOf(own, { before, now, retraction, isNew, states, changes });
      if (frames.length > 0) for (const follower of followers) follower.tell(frames);
    }
    this.#told = now;
    this.#states = states;
    for (const [n, { asked, topics: own, follower, resolve }] of joiners.entries()) {
      const start = starts[n] ?? "behind";
      if (typeof start === "string") {
        resolve(start);
        continue;
      }
      this.#add(asked, own, follower);
      follower.tell(start);
      resolve("follows");
    }
    if (this.#groups.size === 0) this.#forget();
  }

  #dropAll(): void {
    this.#drop([...this.#groups.values()].flatMap(({ followers }) => [...followers]));
  }

  #drop(followers: readonly Follower[]): void {
    for (const follower of followers) {
      this.leave(follower);
      follower.fallBehind();
    }
  }

  #add(asked: readonly AskedTopic[], topics: Topic[], follower: Follower): void {
    const key = keyOfAll(asked);
    const group = this.#groups.get(key) ?? { asked, topics, followers: new Set<Follower>() };
    group.followers.add(follower);
    this.#groups.set(key, group);
    this.#unfollow ??= this.#options.watch.follow(() => this.#next());
  }

  /** The first events of each follower that joins, or why it cannot join yet. */
  async #startsOf(
    db: Database,
    now: CurrentPlace,
    joiners: readonly (Joining & { topics: Topic[] })[],
    states: ReadonlyMap<string, unknown>,
  ): Promise<(Frame[] | Exclude<Joined, "follows">)[]> {
    const starts = new Map<string, Frame[] | Exclude<Joined, "follows">>();
    const keys: string[] = [];
    for (const { key, topics, since } of joiners) {
      keys.push(key);
      if (starts.has(key)) continue;
      starts.set(key, await this.#start(db, now, topics, since, states));
    }
    return keys.map((key) => starts.get(key) ?? "behind");
  }

  async #start(
    db: Database,
    now: CurrentPlace,
    topics: readonly Topic[],
    since: Place | undefined,
    states: ReadonlyMap<string, unknown>,
  ): Promise<Frame[] | Exclude<Joined, "follows">> {
    if (since !== undefined && isAhead(since, now)) return "ahead";
    // The other kinds are not of the head alone.
    const atHead = new Map(
      topics
        .filter(({ kind }) => kind !== "trades" && kind !== "candles")
        .map(({ name }) => [name, states.get(name)]),
    );
    const missed = since && (await readMissed(db, topics, since, now, this.#options.pageTrades));
    if (typeof missed !== "object") {
      const ofCandles = topics.filter(({ kind }) => kind === "candles");
      const begun = new Map([...atHead, ...(await readStates(db, ofCandles, now))]);
      const update = updateOf(now, wholesOf(topics, begun));
      return missed === undefined ? [update] : [resetOf(missed), update];
    }
    return missed.more ? "behind" : eventsOf(missed, topics, atHead);
  }
}

/** Data in JSON by the names of the topics. */
type Changes = ReadonlyMap<string, string>;

const NO_CHANGES: Changes = new Map();

function changesOf(
  topics: readonly Topic[],
  before: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
  retraction: Retraction | undefined,
): Changes {
  const changes = new Map<string, string>();
  for (const { kind, name } of topics) {
    const isWhole = !before.has(name) || (retraction !== undefined && kind === "candles");
    const change = isWhole
      ? TOPIC_KINDS[kind].whole(now.get(name))
      : TOPIC_KINDS[kind].change(before.get(name), now.get(name));
    if (change !== undefined) changes.set(name, JSON.stringify(change));
  }
  return changes;
}

interface Step {
  before: CurrentPlace;
  now: CurrentPlace;
  retraction: Retraction | undefined;
  /** Whether what was told before is void. */
  isNew: boolean;
  states: ReadonlyMap<string, unknown>;
  changes: Changes;
}

/** The events of those that follow these topics. */
function framesOf(
  topics: readonly Topic[],
  { before, now, retraction, isNew, states, changes }: Step,
): Frame[] {
  if (isNew) {
    return [
      resetOf("the history or its labels have changed"),
      updateOf(now, wholesOf(topics, states)),
    ];
  }
  const frames =
    retraction === undefined ? [] : [retractOf(retraction, { ...now, trade: before.trade })];
  const names = topics.map(({ name }) => name).filter((name) => changes.has(name));
  if (names.length > 0) {
    frames.push(updateOf(now, new Map(names.map((name) => [name, changes.get(name) ?? ""]))));
  }
  return frames;
}

/** Whether more candles may have changed than were read. */
const isCut = (state: unknown): boolean => Array.isArray(state) && state.length >= MAX_CANDLES;

const keyOfAll = (asked: readonly AskedTopic[]): string =>
  asked
    .map(({ name }) => name)
    .sort()
    .join(",");

/** The topics with `*` as one of each market. */
function concrete(asked: readonly AskedTopic[], pairs: readonly PairName[]): Topic[] {
  const topics = asked.flatMap((topic) =>
    topic.pair === "*" ? pairs.map((pair) => topicOf(topic.kind, pair)) : [topic],
  );
  return [...new Map(topics.map((topic) => [topic.name, topic])).values()];
}
