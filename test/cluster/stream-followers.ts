// Clients of the event stream, by whatever service the balancer gives them: each goes on at its last event's id
// whenever its stream ends.
import { setTimeout as sleep } from "node:timers/promises";
import { readTopics, type AskedTopic } from "../../rest/stream/topics.ts";
import { followStream, type Received, type StreamClient } from "../stream-client.ts";
import { StreamCopy } from "../stream-copy.ts";
import type { Kept, Truth } from "../stream-truth.ts";

export const KEPT: Kept = { intervals: ["1m", "1h"], depths: [5, 1000] };

const FOLLOWED = [
  { topics: "head,trades:*,market:*,summary:*", events: Infinity },
  { topics: "head,candles:WETH/DAI:1h,book:WETH/DAI:1000", events: Infinity },
  // Comes back after so many.
  { topics: "head,trades:WETH/DAI,candles:WETH/DAI:1m,book:WETH/DAI:5", events: 10 },
];

export interface FollowersTally {
  events: number;
  /** Streams that went on at an id. */
  resumed: number;
  /** Streams that began anew. */
  resets: number;
}

export class StreamFollowers {
  readonly #followers: Follower[];
  tally: FollowersTally = noTally();

  constructor(url: string) {
    this.#followers = FOLLOWED.map(
      ({ topics, events }) => new Follower(url, topics, events, () => this.tally),
    );
  }

  start(): void {
    for (const one of this.#followers) one.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#followers.map((one) => one.stop()));
  }

  /** Begins new counts. */
  countAnew(): void {
    this.tally = noTally();
  }

  /** Waits until each has been told this state, and gives what its copy has other than the tables. */
  async differences(truth: Truth): Promise<string[]> {
    const found = await Promise.all(this.#followers.map((one) => one.differences(truth)));
    return found.flat();
  }
}

const noTally = (): FollowersTally => ({ events: 0, resumed: 0, resets: 0 });

class Follower {
  readonly #url: string;
  readonly #asked: AskedTopic[];
  readonly #events: number;
  readonly #tally: () => FollowersTally;
  readonly #copy = new StreamCopy();
  #client: StreamClient | undefined;
  #isOver = false;
  #isWhole = false;
  #running: Promise<void> = Promise.resolve();
  #error: Error | undefined;

  constructor(url: string, topics: string, events: number, tally: () => FollowersTally) {
    this.#url = `${url}/v2/stream?topics=${topics}`;
    this.#asked = readTopics([topics]);
    this.#events = events;
    this.#tally = tally;
  }

  start(): void {
    this.#running = this.#run().catch((error: unknown) => {
      this.#error = error as Error;
    });
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#client?.close();
    await this.#running;
  }

  async differences(truth: Truth): Promise<string[]> {
    while (!(this.#isWhole && this.#copy.id === truth.place)) {
      if (this.#error !== undefined) throw this.#error;
      await sleep(10);
    }
    return this.#copy.differences(truth.of(this.#asked));
  }

  async #run(): Promise<void> {
    for (;;) {
      const { id } = this.#copy;
      const headers: Record<string, string> = id === undefined ? {} : { "Last-Event-ID": id };
      // Nobody answers for a moment.
      const client = await followStream(this.#url, headers).catch(() => undefined);
      if (this.#isOver) {
        client?.close();
        return;
      }
      if (client?.status === 200) {
        this.#client = client;
        if (id !== undefined) this.#tally().resumed += 1;
        await this.#read(client);
      } else if (client !== undefined && client.status !== 503) {
        throw new Error(`${client.status} for ${this.#url}`);
      }
      client?.close();
      await sleep(50);
    }
  }

  async #read(client: StreamClient): Promise<void> {
    for (let n = 1; n <= this.#events; n += 1) {
      const event = await client.next();
      if (event === undefined) return;
      this.#take(event);
    }
  }

  #take(event: Received): void {
    this.#tally().events += 1;
    if (event.event === "reset") this.#tally().resets += 1;
    this.#copy.apply(event);
    this.#isWhole = event.event === "update" && event.data.more !== true;
  }
}
