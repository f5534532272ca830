// Plays random histories of an exchange beside clients that follow it, by both transports at once: they connect, are
// cut off, and resume, on two services, one of which is closed and made anew. After each event a client's own copy
// must be what the tables have at that head.
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { connect, type Client, type Pool } from "../../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { makeTestApp, ownErrors, type TestApp } from "../../app.ts";
import { emptyExchange } from "../../database.ts";
import { anAddress } from "../../factories.ts";
import {
  beginExchange,
  chainStep,
  play,
  writeStep,
  type Exchange,
  type WriteStep,
} from "../../histories.ts";
import { KINDS, type Asked, type Kind } from "./live-client.ts";
import { LiveFollower, newTally, type Truths } from "./live-follower.ts";
import { readTruth, type Kept, type Truth } from "./live-truth.ts";
import { TRANSPORTS } from "./transports.ts";

const FOLLOWERS = 4;

const KEPT = { intervals: ["1m", "1h", "1d"], depths: [1, 2, 1000] } as const satisfies Kept;

/** The pair is an index in those that are registered. */
interface TopicChoice {
  kind: Kind;
  pair: number | "*";
  /** Whose trades a subscription follows. */
  of: "all" | "taker" | "maker";
  interval: (typeof KEPT.intervals)[number];
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
  kind: fc.constantFrom(...KINDS, "trades" as const, "candles" as const),
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

/** The writer of histories. */
export async function connectWriter(url: string): Promise<Client> {
  const writer = await connect(url, { role: "dex_owner", waitMs: 60_000 });
  // As the service: planning the views takes longer than reading them.
  await writer.query("set plan_cache_mode = force_generic_plan");
  return writer;
}

/** Looks at the data all the time. Pages are so small that short histories have some, and miss too much. */
const startService = (pool: Pool): Promise<TestApp> =>
  makeTestApp(pool, {
    cache: "off",
    limits: { ...GRAPHQL_LIMITS, planningMs: 60_000, page: 4 },
    streams: {
      ...STREAM_LIMITS,
      ...{ checkMs: 1, lagMs: 600_000, perClient: STREAM_LIMITS.all },
      ...{ pageTrades: 2, pageCandles: 4, maxTrades: 6 },
    },
  });

/** Throws if the service has failed. */
async function closeService({ close, logged }: TestApp): Promise<void> {
  await close();
  // The database may be away, and the code must not be wrong.
  const [fault] = ownErrors(logged).filter(
    (error) => (error as { code?: string }).code === undefined,
  );
  if (fault !== undefined) throw new Error("a service has failed", { cause: fault });
}

export interface StageOptions {
  /** The writer's URL. */
  url: string;
  /** Of the two services. */
  readers: readonly [Pool, Pool];
  /** Resolves when both services can see what was written. */
  untilSeen?: () => Promise<void>;
}

/** Where histories are played: a writer, and two services on a database or on a server and its standby. */
export class Stage {
  readonly tallies = new Map(TRANSPORTS.map((transport) => [transport, newTally()]));
  histories = 0;
  madeAnew = 0;
  readonly #writer: Client;
  readonly #readers: readonly [Pool, Pool];
  readonly #services: TestApp[];
  readonly #untilSeen: () => Promise<void>;

  private constructor(
    writer: Client,
    services: TestApp[],
    { readers, untilSeen = () => Promise.resolve() }: StageOptions,
  ) {
    this.#writer = writer;
    this.#services = services;
    this.#readers = readers;
    this.#untilSeen = untilSeen;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const services = await Promise.all(options.readers.map(startService));
    return new Stage(await connectWriter(options.url), services, options);
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map(closeService));
    await this.#writer.end();
  }

  /** Plays it on an empty database. Throws where a copy differs from the tables. */
  async play({ topics, moves }: LiveHistory): Promise<void> {
    await Promise.all(this.#readers.map(untilIdle));
    await emptyExchange(this.#writer);
    const truths = new WrittenTruths(this.#writer);
    const exchange = await truths.write(() => beginExchange(this.#writer));
    // A standby may still have the data of the history before.
    await this.#untilSeen();
    const followers = topics.map((choices) =>
      [...this.tallies].map(
        ([transport, tally]) =>
          new LiveFollower(
            choices.map((choice) => () => askedOf(choice, exchange)),
            { transport, truths, tally },
          ),
      ),
    );
    try {
      for (const move of moves) {
        await this.#make(move, { truths, exchange, followers });
        for (const one of followers.flat()) one.throwIfWrong();
      }
      await this.#untilSeen();
      await Promise.all(followers.flat().map((one) => one.caughtUp()));
      // A client that resumes gets the present state, whatever it has got before.
      await Promise.all(
        followers.flatMap((both, n) =>
          both.map(async (one) => {
            await one.connect(this.#services[n % 2]!.url);
            await one.comparedAt(truths.last.place);
          }),
        ),
      );
    } finally {
      for (const one of followers.flat()) await one.cutOff();
    }
    this.histories += 1;
  }

  async #make(
    move: Move,
    {
      truths,
      exchange,
      followers,
    }: {
      truths: WrittenTruths;
      exchange: Exchange;
      /** Of each client, one by each transport. */
      followers: readonly LiveFollower[][];
    },
  ): Promise<void> {
    switch (move.do) {
      case "write":
        return truths.write(async () => {
          for (const one of move.steps) await play(this.#writer, exchange, one);
        });
      case "connect": {
        const { url } = this.#services[move.service]!;
        await Promise.all(followers[move.follower]!.map((one) => one.connect(url)));
        return;
      }
      case "cut off":
        await Promise.all(followers[move.follower]!.map((one) => one.cutOff()));
        return;
      case "make anew":
        await closeService(this.#services[0]!);
        this.#services[0] = await startService(this.#readers[0]);
        this.madeAnew += 1;
        return;
      case "wait":
        await sleep(move.ms);
    }
  }
}

/** Resolves when no snapshot of a client that is gone is read any more: it would hold up the emptying of the tables. */
async function untilIdle(reader: Pool): Promise<void> {
  while (reader.idleCount < reader.totalCount) await setImmediate();
}

function askedOf(
  { kind, pair, of, interval, depth }: TopicChoice,
  { recording: { pairs } }: Exchange,
): Asked {
  const { base = "", quote = "" } = pairs[pair === "*" ? 0 : pair % pairs.length]!;
  const name = `${base}/${quote}`;
  const market = pair === "*" ? undefined : name;
  switch (kind) {
    case "head":
      return { kind };
    case "trades":
      return { kind, market, ...(of !== "all" && { [of]: anAddress(of) }) };
    case "candles":
      return { kind, market: name, interval };
    case "book":
      return { kind, market: name, depth };
    default:
      return { kind, market };
  }
}

/** Plays histories for this time, at least one. */
export async function playFor(seconds: number, stage: Stage): Promise<void> {
  const end = Date.now() + seconds * 1000;
  await fc.assert(
    fc.asyncProperty(liveHistory, async (history) => {
      // The others of this run pass unplayed.
      if (stage.histories === 0 || Date.now() < end) await stage.play(history);
    }),
    { numRuns: 2000, endOnFailure: true },
  );
}

/** What the tables had after each write, before a service could see it. */
class WrittenTruths implements Truths {
  readonly #writer: Client;
  readonly #known = new Map<string, Truth[]>();
  #last: Truth | undefined;

  constructor(writer: Client) {
    this.#writer = writer;
  }

  async write<T>(act: () => Promise<T>): Promise<T> {
    await this.#writer.query("begin");
    try {
      const done = await act();
      const truth = await readTruth(this.#writer, KEPT);
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
