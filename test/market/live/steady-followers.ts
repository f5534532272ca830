// Clients that follow a service for long, by each transport: each goes on where it was whenever its connection ends.
import { setTimeout as sleep } from "node:timers/promises";
import {
  NO_CONNECTION,
  Refused,
  type Asked,
  type Connection,
  type Transport,
} from "./live-client.ts";
import { LiveCopy } from "./live-copy.ts";
import type { Kept, Truth } from "./live-truth.ts";
import { TRANSPORTS } from "./transports.ts";

export const KEPT: Kept = { intervals: ["1m", "1h"], depths: [5, 1000] };

const market = "WETH/DAI";

/** What clients follow, and after how many events they leave and come back. */
const FOLLOWED: { topics: Asked[]; events: number }[] = [
  {
    topics: [{ kind: "head" }, { kind: "trades" }, { kind: "market" }, { kind: "summary" }],
    events: Infinity,
  },
  {
    topics: [
      ...[{ kind: "head" as const }, { kind: "trades" as const, market }],
      { kind: "candles", market, interval: "1m" },
      { kind: "book", market, depth: 5 },
    ],
    events: 3,
  },
  {
    topics: [
      { kind: "candles", market, interval: "1h" },
      { kind: "book", market, depth: 1000 },
    ],
    events: 10,
  },
];

export interface SteadyTally {
  events: number;
  /** Clients that went on at a place. */
  resumed: number;
  /** Clients that began anew. */
  resets: number;
}

const noTally = (): SteadyTally => ({ events: 0, resumed: 0, resets: 0 });

export interface SteadyOptions {
  /** Whether clients may get this error; it is never that the service is unavailable. */
  tolerates: (error: Error) => boolean;
  /** For how long a client waits for the state in the end, in milliseconds. */
  patienceMs: number;
}

export class SteadyFollowers {
  tally = noTally();
  /** What no client should get. */
  readonly errors: string[] = [];
  readonly #followers: SteadyFollower[];

  constructor(url: string, options: SteadyOptions) {
    const count = (name: keyof SteadyTally): void => void (this.tally[name] += 1);
    const fail = (error: Error): void => void this.errors.push(String(error));
    this.#followers = TRANSPORTS.flatMap((transport) =>
      FOLLOWED.flatMap(({ topics, events }) => {
        const together = transport.carriesMany ? [topics] : topics.map((topic) => [topic]);
        return together.map(
          (asked) => new SteadyFollower({ ...options, url, transport, asked, events, count, fail }),
        );
      }),
    );
  }

  start(): void {
    for (const each of this.#followers) each.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#followers.map((each) => each.stop()));
  }

  /** Begins new counts. */
  countAnew(): void {
    this.tally = noTally();
  }

  /** Waits until each has got this state, which stays, and gives what its copy has other than the tables. */
  async differences(truth: Truth): Promise<string[]> {
    const found = await Promise.all(this.#followers.map((each) => each.differences(truth)));
    return found.flat();
  }
}

interface FollowerOptions extends SteadyOptions {
  url: string;
  transport: Transport;
  asked: readonly Asked[];
  events: number;
  count: (name: keyof SteadyTally) => void;
  fail: (error: Error) => void;
}

class SteadyFollower {
  readonly #options: FollowerOptions;
  readonly #copy: LiveCopy;
  #connection: Connection | undefined;
  #isOver = true;
  #running: Promise<void> = Promise.resolve();

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#copy = new LiveCopy(options.transport, options.asked);
  }

  start(): void {
    this.#isOver = false;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#connection?.close();
    await this.#running;
  }

  async differences(truth: Truth): Promise<string[]> {
    const until = performance.now() + this.#options.patienceMs;
    const isRight = (): boolean => this.#copy.isWhole && this.#differences(truth) === "";
    // A change that is never sent is a difference, not a reason to wait.
    while (!isRight() && performance.now() < until) await sleep(10);
    const found = this.#differences(truth);
    return found === "" ? [] : [`by ${this.#options.transport.name} ${found}`];
  }

  #differences(truth: Truth): string {
    return this.#copy.differences(truth).join("\n");
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const connection = (this.#connection = this.#options.transport.connect(this.#options.url));
      try {
        await this.#read(connection);
      } catch (error) {
        this.#fail(error as Error);
      }
      connection.close();
      await sleep(50);
    }
  }

  #fail(error: Error): void {
    const isPassing = error instanceof Refused && error.why === "unavailable";
    if (!isPassing && !this.#options.tolerates(error)) this.#options.fail(error);
  }

  async #read(connection: Connection): Promise<void> {
    const { asked, events, count } = this.#options;
    const after = this.#copy.connect();
    const client = connection.follow(asked, after);
    for (let n = 1; n <= events; n += 1) {
      const event = await client.next();
      if (this.#isOver || event === undefined) return;
      if (n === 1 && after !== undefined && event.event !== "closed") count("resumed");
      if (event.event === "closed" && event.reason === NO_CONNECTION) {
        this.#fail(new Error(NO_CONNECTION));
      }
      count("events");
      if (event.event === "reset") count("resets");
      this.#copy.apply(event);
    }
  }
}
