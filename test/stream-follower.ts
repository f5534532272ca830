// A client of the event stream in the random histories of followers.ts.
import { setTimeout as sleep } from "node:timers/promises";
import { readTopics, type AskedTopic } from "../rest/stream/topics.ts";
import {
  KEPT,
  type Follower,
  type Protocol,
  type Tally,
  type TopicChoice,
  type Truths,
} from "./followers.ts";
import type { Exchange } from "./histories.ts";
import { followStream, type Received, type StreamClient } from "./stream-client.ts";
import { StreamCopy } from "./stream-copy.ts";
import { readTruth, type Truth } from "./stream-truth.ts";

export const eventStreams: Protocol<Truth> = {
  readTruth: (writer) => readTruth(writer, KEPT),
  follower: (...given) => new StreamFollower(...given),
};

class StreamFollower implements Follower {
  readonly #choices: readonly TopicChoice[];
  readonly #exchange: Exchange;
  readonly #truths: Truths<Truth>;
  readonly #tally: Tally;
  #asked: AskedTopic[] = [];
  #copy = new StreamCopy();
  #client: StreamClient | undefined;
  #reading: Promise<void> = Promise.resolve();
  #error: Error | undefined;
  /** What it was told, for the message of an error. */
  #told: string[] = [];
  #onEvent = Promise.withResolvers<undefined>();
  /** Whether the service has closed the stream, or an event was wrong. */
  #hasEnded = false;
  #waiting: { place: string; resolve: (nothing: undefined) => void } | undefined;

  constructor(
    choices: readonly TopicChoice[],
    exchange: Exchange,
    truths: Truths<Truth>,
    tally: Tally,
  ) {
    this.#choices = choices;
    this.#exchange = exchange;
    this.#truths = truths;
    this.#tally = tally;
  }

  throwIfWrong(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  async cutOff(): Promise<void> {
    this.#client?.close();
    this.#client = undefined;
    await this.#reading;
  }

  /** Goes on where it was. Begins anew where a market has another name. */
  async connect(url: string): Promise<void> {
    await this.cutOff();
    const { id } = this.#copy;
    if (id === undefined) this.#asked = this.#topics();
    const topics = this.#asked.map(({ name }) => name).join(",");
    const path = `${url}/v2/stream?topics=${encodeURIComponent(topics)}`;
    const client = await followStream(path, id === undefined ? {} : { "Last-Event-ID": id });
    if (client.status === 400 && id !== undefined) {
      this.#copy = new StreamCopy();
      this.#told = [];
      return this.connect(url);
    }
    // A standby cancels statements that would hold up its replay, and may not have a market yet.
    if (client.status === 503 || client.status === 400) {
      await sleep(20);
      return this.connect(url);
    }
    if (client.status !== 200) throw new Error(`${client.status} for ${path}`);
    if (id !== undefined) this.#tally.resumed += 1;
    this.#told.push(`connects with ${id} to ${url}`);
    this.#client = client;
    this.#hasEnded = false;
    this.#reading = this.#read(client);
  }

  #topics(): AskedTopic[] {
    const pairs = this.#exchange.recording.pairs.map(({ base, quote }) => `${base}/${quote}`);
    const names = this.#choices.map(({ kind, pair, interval, depth }) => {
      const market = pair === "*" ? "*" : pairs[pair % pairs.length]!;
      if (kind === "head") return kind;
      if (kind === "candles") return `${kind}:${market === "*" ? pairs[0] : market}:${interval}`;
      if (kind === "book") return `${kind}:${market === "*" ? pairs[0] : market}:${depth}`;
      return `${kind}:${market}`;
    });
    return readTopics([names.join(",")]);
  }

  async #read(client: StreamClient): Promise<void> {
    try {
      for (;;) {
        const event = await client.next();
        if (event === undefined || this.#client !== client) return;
        this.#take(event);
        this.#onEvent.resolve(undefined);
        this.#onEvent = Promise.withResolvers();
      }
    } catch (error) {
      this.#error ??= error as Error;
    } finally {
      if (this.#client === client) this.#hasEnded = true;
    }
  }

  #take(event: Received): void {
    this.#told.push(JSON.stringify(event));
    this.#copy.apply(event);
    if (event.event === "retract") this.#tally.retractions += 1;
    if (event.event === "reset") this.#tally.resets += 1;
    if (event.event !== "update") return;
    if (event.data.more === true) this.#tally.pages += 1;
    else this.#compare(event.id ?? "");
  }

  #compare(place: string): void {
    const differences = this.#truths
      .at(place)
      .map((truth) => this.#copy.differences(truth.of(this.#asked)));
    if (!differences.some((found) => found.length === 0)) {
      const found = differences[0]?.join("\n") ?? "nothing was written there";
      throw new Error(`at ${place}: ${found}\nIt was told\n${this.#told.slice(-12).join("\n")}`);
    }
    this.#tally.compared += 1;
    if (this.#waiting?.place === place) this.#waiting.resolve(undefined);
  }

  /** Resolves when it was told this place, and its copy was right. */
  async comparedAt(place: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#waiting = { place, resolve };
    if (this.#copy.id !== place || !this.#told.at(-1)?.includes('"event":"update"')) {
      await Promise.race([promise, this.#reading]);
    }
    this.throwIfWrong();
  }

  async caughtUp(): Promise<void> {
    while (this.#client !== undefined && !this.#hasEnded && !this.#hasLast()) {
      await Promise.race([this.#onEvent.promise, this.#reading]);
    }
    this.throwIfWrong();
  }

  #hasLast(): boolean {
    return this.#copy.differences(this.#truths.last.of(this.#asked)).length === 0;
  }
}
