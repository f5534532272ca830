// Plays random histories of an exchange beside clients that follow it: they connect, are cut off, and resume, on two
// services, one of which is closed and made anew. After each event a client's own copy must be what the tables have
// at that head.
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { connect, type Client } from "../db/connect.ts";
import { databaseFailure } from "../server/http/database-failure.ts";
import {
  beginExchange,
  chainStep,
  play,
  writeStep,
  type Exchange,
  type WriteStep,
} from "./histories.ts";
import type { Kept } from "./stream-truth.ts";

const FOLLOWERS = 4;

export const KEPT: Kept = { intervals: ["1m", "1h", "1d"], depths: [1, 2, 1000] };

/** The pair is an index in those that are registered. */
export interface TopicChoice {
  kind: "head" | "trades" | "market" | "summary" | "candles" | "book";
  pair: number | "*";
  /** Whose trades a subscription follows. */
  of: "all" | "taker" | "maker";
  interval: string;
  depth: number;
}

type Move =
  /** Steps that are seen at once. */
  | { do: "write"; steps: WriteStep[] }
  | { do: "connect"; follower: number; service: number }
  | { do: "cut off"; follower: number }
  | { do: "make anew" }
  | { do: "wait"; ms: number };

export interface LiveHistory {
  topics: TopicChoice[][];
  moves: Move[];
}

const follower = fc.nat({ max: FOLLOWERS - 1 });

const service = fc.constantFrom(0, 1);

// Mostly blocks, since other labels reset every client.
const step = fc.oneof({ weight: 8, arbitrary: chainStep }, { weight: 2, arbitrary: writeStep });

const write: fc.Arbitrary<Move> = fc.record({
  do: fc.constant("write" as const),
  steps: fc.oneof(
    { weight: 4, arbitrary: fc.tuple(step) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 2, maxLength: 4 }) },
  ),
});

const moves: fc.Arbitrary<readonly Move[]> = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(write) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.record({ do: fc.constant("connect" as const), follower, service })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.record({ do: fc.constant("cut off" as const), follower })),
  },
  // A client that is away for long, and is met by the next change or not.
  {
    weight: 2,
    arbitrary: fc
      .tuple(follower, fc.array(write, { minLength: 2, maxLength: 6 }), service, write)
      .map(([who, writes, where, next]): Move[] => [
        { do: "cut off", follower: who },
        ...writes,
        { do: "connect", follower: who, service: where },
        next,
      ]),
  },
  { weight: 1, arbitrary: fc.constant<Move[]>([{ do: "make anew" }]) },
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(0, 1, 5, 20) }),
    ),
  },
);

const topic: fc.Arbitrary<TopicChoice> = fc.record({
  kind: fc.constantFrom(
    "head",
    "trades",
    "trades",
    "market",
    "summary",
    "candles",
    "candles",
    "book",
  ),
  pair: fc.constantFrom(0, 0, 0, 1, 2, "*" as const),
  of: fc.constantFrom("all", "all", "taker", "maker"),
  interval: fc.constantFrom(...KEPT.intervals),
  depth: fc.constantFrom(...KEPT.depths),
});

export const liveHistory: fc.Arbitrary<LiveHistory> = fc.record({
  topics: fc.array(fc.array(topic, { minLength: 1, maxLength: 5 }), {
    minLength: FOLLOWERS,
    maxLength: FOLLOWERS,
  }),
  moves: fc.array(moves, { minLength: 8, maxLength: 30 }).map((all) => all.flat()),
});

/** What happened in the histories. */
export interface Tally {
  histories: number;
  compared: number;
  resumed: number;
  pages: number;
  retractions: number;
  resets: number;
  madeAnew: number;
}

export const newTally = (): Tally => ({
  ...{ histories: 0, compared: 0, resumed: 0, pages: 0, retractions: 0, resets: 0, madeAnew: 0 },
});

/** The writer of histories. */
export async function connectWriter(url: string): Promise<Client> {
  const writer = await connect(url, { role: "dex_owner" });
  // As the service: planning the views takes longer than reading them.
  await writer.query("set plan_cache_mode = force_generic_plan");
  return writer;
}

/** What the tables had at a place. */
export interface TruthAt {
  place: string;
}

/** A client that follows topics and keeps a copy of them. */
export interface Follower {
  /** Goes on where it was, or begins anew where a market has another name. */
  connect: (url: string) => Promise<void>;
  cutOff: () => Promise<void>;
  /** Resolves when an event of this place has come, and the copy was right. */
  comparedAt: (place: string) => Promise<void>;
  /** If it is connected, resolves when the copy is what the tables had last. */
  caughtUp: () => Promise<void>;
  throwIfWrong: () => void;
}

/** How clients follow the data, and what the tables have of it. */
export interface Protocol<Truth extends TruthAt> {
  readTruth: (writer: Client) => Promise<Truth>;
  follower: (
    choices: readonly TopicChoice[],
    exchange: Exchange,
    truths: Truths<Truth>,
    tally: Tally,
  ) => Follower;
}

export interface LiveService {
  url: string;
  /** The logged errors, oldest first. */
  logged: unknown[];
  close: () => Promise<void>;
}

type Make = () => Promise<LiveService>;
type Makers = readonly [Make, Make];

/** Two services. */
export class LiveServices {
  readonly #makers: Makers;
  readonly #open: LiveService[];

  private constructor(makers: Makers, open: LiveService[]) {
    this.#makers = makers;
    this.#open = open;
  }

  static async start(makers: Makers): Promise<LiveServices> {
    return new LiveServices(makers, await Promise.all(makers.map((make) => make())));
  }

  urlOf(which: number): string {
    return this.#open[which]!.url;
  }

  /** Closes the first one, and makes it anew. */
  async makeAnew(): Promise<void> {
    const [first] = this.#open.splice(0, 1);
    await closeService(first!);
    this.#open.unshift(await this.#makers[0]());
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map(closeService));
  }
}

/** Throws if the service has failed. */
async function closeService({ close, logged }: LiveService): Promise<void> {
  await close();
  // The database may be away, and the code must not be wrong.
  const faults = logged.filter(
    (error) =>
      (error as { code?: string }).code === undefined && databaseFailure(error) === undefined,
  );
  if (faults.length > 0) throw new Error("a service has failed", { cause: faults[0] });
}

export interface Stage<Truth extends TruthAt> {
  protocol: Protocol<Truth>;
  /** Writes as dex_owner. */
  writer: Client;
  services: LiveServices;
  /** Resolves when both services can see what was written. Without it they see it at once. */
  untilSeen?: () => Promise<void>;
  tally: Tally;
}

/** Plays histories for this time, at least one. */
export async function playFor(
  seconds: number,
  play: (history: LiveHistory) => Promise<void>,
): Promise<void> {
  const end = Date.now() + seconds * 1000;
  let played = 0;
  await fc.assert(
    fc.asyncProperty(liveHistory, async (history) => {
      // The others of this run pass unplayed.
      if (played > 0 && Date.now() > end) return;
      await play(history);
      played += 1;
    }),
    { numRuns: 2000, endOnFailure: true },
  );
}

/** Plays it on services of its own. */
export async function playAlone<Truth extends TruthAt>(
  { makers, ...stage }: Omit<Stage<Truth>, "services"> & { makers: Makers },
  history: LiveHistory,
): Promise<void> {
  const services = await LiveServices.start(makers);
  try {
    await playLive({ ...stage, services }, history);
  } finally {
    await services.close();
  }
}

/** Plays it on an empty database. Throws where a copy differs from the tables. */
export async function playLive<Truth extends TruthAt>(
  { protocol, writer, services, untilSeen, tally }: Stage<Truth>,
  { topics, moves }: LiveHistory,
): Promise<void> {
  const truths = new Truths(writer, protocol.readTruth);
  const exchange = await truths.write(() => beginExchange(writer));
  // A standby may still have the data of the history before.
  await untilSeen?.();
  const followers = topics.map((choices) => protocol.follower(choices, exchange, truths, tally));
  try {
    for (const next of moves) {
      switch (next.do) {
        case "write":
          await truths.write(async () => {
            for (const one of next.steps) await play(writer, exchange, one);
          });
          break;
        case "connect":
          await followers[next.follower]!.connect(services.urlOf(next.service));
          break;
        case "cut off":
          await followers[next.follower]!.cutOff();
          break;
        case "make anew":
          await services.makeAnew();
          tally.madeAnew += 1;
          break;
        case "wait":
          await sleep(next.ms);
      }
      for (const one of followers) one.throwIfWrong();
    }
    await untilSeen?.();
    await Promise.all(followers.map((one) => one.caughtUp()));
    // A client that resumes is told the present state, whatever it has been told before.
    await Promise.all(
      followers.map(async (one, n) => {
        await one.connect(services.urlOf(n % 2));
        await one.comparedAt(truths.last.place);
      }),
    );
  } finally {
    for (const one of followers) await one.cutOff();
  }
  tally.histories += 1;
}

/** What the tables had after each write, before anybody could see it. */
export class Truths<Truth extends TruthAt> {
  readonly #writer: Client;
  readonly #read: (writer: Client) => Promise<Truth>;
  /** A place has several where a market was only switched on or off. */
  readonly #known = new Map<string, Truth[]>();
  #last: Truth | undefined;

  constructor(writer: Client, read: (writer: Client) => Promise<Truth>) {
    this.#writer = writer;
    this.#read = read;
  }

  async write<T>(act: () => Promise<T>): Promise<T> {
    await this.#writer.query("begin");
    try {
      const done = await act();
      const truth = await this.#read(this.#writer);
      this.#known.set(truth.place, [...this.at(truth.place), truth]);
      this.#last = truth;
      await this.#writer.query("commit");
      return done;
    } catch (error) {
      await this.#writer.query("rollback");
      throw error;
    }
  }

  get last(): Truth {
    if (this.#last === undefined) throw new Error("nothing was written");
    return this.#last;
  }

  get all(): Truth[] {
    return [...this.#known.values()].flat();
  }

  at(place: string): Truth[] {
    return this.#known.get(place) ?? [];
  }
}
