// Clients of the event stream in the soak: some follow all through, some never read, some come and go.
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { AskedTopic } from "../../rest/stream/topics.ts";
import { readTopics } from "../../rest/stream/topics.ts";
import { followStream, type StreamClient } from "../stream-client.ts";
import { StreamCopy } from "../stream-copy.ts";
import type { Kept, Truth } from "../stream-truth.ts";

export const KEPT: Kept = { intervals: ["1m", "1h"], depths: [5, 1000] };

/** How many events until the client leaves, and comes back. */
const FOLLOWED = [
  { topics: "head,trades:*,market:*,summary:*", events: Infinity },
  { topics: "head,trades:WETH/DAI,candles:WETH/DAI:1m,book:WETH/DAI:5", events: 3 },
  { topics: "candles:WETH/DAI:1h,book:WETH/DAI:1000", events: 10 },
];
const THAT_NEVER_READ = 5;
const THAT_COME_AND_GO = 2;
/** For how long a client that comes back in the end waits for the last place. */
const LONGEST_MS = 60_000;

export interface FollowersTally {
  events: number;
  resumed: number;
  resets: number;
  /** Streams that clients closed at once. */
  closed: number;
}

export class SoakFollowers {
  readonly tally: FollowersTally = { events: 0, resumed: 0, resets: 0, closed: 0 };
  readonly #url: string;
  readonly #onError: (line: string) => void;
  readonly #followers: SoakFollower[];
  readonly #sockets: Socket[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** Gets what no fault explains. */
  constructor(url: string, onError: (line: string) => void) {
    this.#url = url;
    this.#onError = onError;
    this.#followers = FOLLOWED.map(({ topics }) => new SoakFollower(url, topics, this.tally));
  }

  start(): void {
    this.#running = Promise.all([
      ...this.#followers.map((each, n) =>
        this.#untilOver(() => {
          let left = FOLLOWED[n]?.events ?? Infinity;
          return each.follow(() => (left -= 1) <= 0);
        }),
      ),
      ...Array.from({ length: THAT_NEVER_READ }, () => this.#untilOver(() => this.#neverRead())),
      ...Array.from({ length: THAT_COME_AND_GO }, () => this.#untilOver(() => this.#comeAndGo())),
    ]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const each of this.#followers) each.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#running;
  }

  /** Resumes each that has followed, and gives what its copy has other than the tables, which nobody writes to. */
  async differences(truth: Truth): Promise<string[]> {
    const found = await Promise.all(this.#followers.map((each) => each.differences(truth)));
    return found.flat();
  }

  async #untilOver(act: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await act();
      } catch (error) {
        this.#onError(`stream: ${String(error)}`);
      }
      await sleep(20);
    }
  }

  /** Until the service ends the stream. */
  async #neverRead(): Promise<void> {
    const { hostname, port } = new URL(this.#url);
    const socket = connectSocket(Number(port), hostname);
    this.#sockets.push(socket);
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(
      "GET /v2/stream?topics=head,book:WETH/DAI:1000,summary:* HTTP/1.1\r\nHost: soak\r\n\r\n",
    );
    await once(socket, "close");
  }

  async #comeAndGo(): Promise<void> {
    const client = await followStream(`${this.#url}/v2/stream?topics=head,market:*`);
    this.tally.closed += 1;
    if (this.tally.closed % 2 === 0) await client.next();
    client.close();
  }
}

class SoakFollower {
  readonly #url: string;
  readonly #asked: AskedTopic[];
  readonly #tally: FollowersTally;
  readonly #copy = new StreamCopy();
  #client: StreamClient | undefined;
  #isClosed = false;

  constructor(url: string, topics: string, tally: FollowersTally) {
    this.#url = `${url}/v2/stream?topics=${topics}`;
    this.#asked = readTopics([topics]);
    this.#tally = tally;
  }

  /** Ends the stream, also one that is being opened. */
  close(): void {
    this.#isClosed = true;
    this.#client?.close();
  }

  /** Until the stream ends, a fault has the service refuse it, or it is closed. */
  async follow(isLast: (id: string | undefined) => boolean = () => false): Promise<void> {
    const { id } = this.#copy;
    const client = await followStream(this.#url, id === undefined ? {} : { "Last-Event-ID": id });
    this.#client = client;
    if (this.#isClosed) client.close();
    if (client.status !== 200) return;
    if (id !== undefined) this.#tally.resumed += 1;
    for (;;) {
      const event = await client.next();
      if (event === undefined) return;
      this.#tally.events += 1;
      if (event.event === "reset") this.#tally.resets += 1;
      this.#copy.apply(event);
      if (event.event === "update" && event.data.more !== true && isLast(event.id)) {
        client.close();
        return;
      }
    }
  }

  async differences(truth: Truth): Promise<string[]> {
    this.#isClosed = false;
    // A place that is never told is a difference, not a reason to wait.
    const tooLong = setTimeout(() => this.close(), LONGEST_MS);
    await this.follow((id) => id === truth.place);
    clearTimeout(tooLong);
    return this.#copy.differences(truth.of(this.#asked));
  }
}
