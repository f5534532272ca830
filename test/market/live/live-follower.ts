// A client in the random histories: it follows topics by a transport, is cut off and comes back, and its own copy must
// be what the tables have at each head that it gets.
import { setTimeout as sleep } from "node:timers/promises";
import {
  Refused,
  type Asked,
  type Connection,
  type LiveEvent,
  type Transport,
} from "./live-client.ts";
import { LiveCopy } from "./live-copy.ts";
import type { Truth } from "./live-truth.ts";

/** What happened to the clients of a transport. */
export interface Tally {
  compared: number;
  resumed: number;
  pages: number;
  retractions: number;
  resets: number;
  /** Streams that were closed, and clients that were reset, because they were too far behind. */
  behind: number;
}

export const newTally = (): Tally => ({
  ...{ compared: 0, resumed: 0, pages: 0, retractions: 0, resets: 0, behind: 0 },
});

/** What the tables had. */
export interface Truths {
  last: Truth;
  all: readonly Truth[];
  /** A place has several where a market was only switched on or off. */
  at: (place: string) => readonly Truth[];
}

export interface FollowerOptions {
  transport: Transport;
  truths: Truths;
  tally: Tally;
}

/** A topic by the present names of its market. */
type Ask = () => Asked;

export class LiveFollower {
  readonly #transport: Transport;
  readonly #lines: readonly Line[];
  #url = "";
  #connection: Connection | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(asks: readonly Ask[], options: FollowerOptions) {
    this.#transport = options.transport;
    const together = options.transport.carriesMany ? [asks] : asks.map((ask) => [ask]);
    this.#lines = together.map((each) => new Line(each, options));
  }

  throwIfWrong(): void {
    for (const { error } of this.#lines) if (error !== undefined) throw error;
  }

  async cutOff(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.close();
    await this.#reading;
  }

  /** Goes on where it was. */
  async connect(url: string): Promise<void> {
    await this.cutOff();
    const connection = this.#transport.connect(url);
    this.#url = url;
    this.#connection = connection;
    const isConnected = (): boolean => this.#connection === connection;
    this.#reading = Promise.all(this.#lines.map((line) => line.follow(connection, isConnected)));
    // So that what the history does next meets an open connection.
    await Promise.race([connection.opened, this.#reading]);
  }

  /** Resolves when an event of this place has come, and the copy was right. */
  async comparedAt(place: string): Promise<void> {
    for (;;) {
      await this.#until((line) => line.place === place);
      this.throwIfWrong();
      if (this.#lines.every((line) => line.place === place)) return;
      await this.connect(this.#url);
    }
  }

  /** If it is connected, resolves when the copy is what the tables had last. */
  async caughtUp(): Promise<void> {
    if (this.#connection !== undefined) await this.#until((line) => line.hasLast);
    this.throwIfWrong();
  }

  /** Resolves when the condition holds for each, or the connection is lost. */
  async #until(isTrue: (line: Line) => boolean): Promise<void> {
    const all = Promise.all(this.#lines.map((line) => line.until(() => isTrue(line))));
    await Promise.race([all, this.#reading]);
  }
}

/** Topics that come in the same events. */
class Line {
  error: Error | undefined;
  /** Of the last event since it connected with which the copy was compared. */
  place: string | undefined;
  readonly #asks: readonly Ask[];
  readonly #options: FollowerOptions;
  #asked: readonly Asked[] = [];
  #copy: LiveCopy;
  /** What it got, for the message of an error. */
  #got: string[] = [];
  #onChange = Promise.withResolvers<undefined>();

  constructor(asks: readonly Ask[], options: FollowerOptions) {
    this.#asks = asks;
    this.#options = options;
    this.#copy = new LiveCopy(options.transport, []);
  }

  /** Whether the copy is what the tables had last. */
  get hasLast(): boolean {
    return (
      this.place !== undefined && this.#copy.differences(this.#options.truths.last).length === 0
    );
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (this.error === undefined && !isTrue()) await this.#onChange.promise;
  }

  /** Goes on where it was, until the connection is lost. Begins anew where a market has another name. */
  async follow(connection: Connection, isConnected: () => boolean): Promise<void> {
    this.place = undefined;
    if (this.#copy.place !== undefined) this.#options.tally.resumed += 1;
    try {
      while (isConnected() && (await this.#read(connection, isConnected)) === "again") {
        await sleep(20);
      }
    } catch (error) {
      this.error ??= new Error(`${String(error)}\n${this.#story()}`, { cause: error });
      this.#changed();
    }
  }

  async #read(connection: Connection, isConnected: () => boolean): Promise<"again" | "ended"> {
    if (this.#copy.place === undefined) {
      this.#asked = this.#asks.map((ask) => ask());
      this.#copy = new LiveCopy(this.#options.transport, this.#asked);
    }
    const after = this.#copy.connect();
    this.#got.push(`connects with ${after}`);
    const client = connection.follow(this.#asked, after);
    try {
      for (;;) {
        const event = await client.next();
        if (event === undefined || !isConnected()) return "ended";
        this.#take(event);
        if (event.event === "closed") return event.reason === "behind" ? "again" : "ended";
      }
    } catch (error) {
      if (!isConnected()) return "ended";
      if (!(error instanceof Refused) || error.why === "limit") throw error;
      if (error.why === "input") this.#beginAnew(after);
      // A standby cancels statements that would hold up its replay.
      return "again";
    }
  }

  #beginAnew(after: string | undefined): void {
    const wasGone = this.#asked.some(
      ({ market = "" }) =>
        market !== "" && this.#options.truths.all.some(({ markets }) => !markets.has(market)),
    );
    // A standby may not have a market yet that another service has sent.
    if (after !== undefined && !wasGone) {
      throw new Error("is refused, and its markets were always registered");
    }
    this.#copy = new LiveCopy(this.#options.transport, []);
    this.#got = [];
  }

  #take(event: LiveEvent): void {
    const { tally } = this.#options;
    this.#got.push(textOf(event));
    this.#copy.apply(event);
    if (event.event === "retract") tally.retractions += 1;
    if (event.event === "reset") tally.resets += 1;
    if (isBehind(event)) tally.behind += 1;
    if (event.event === "update") {
      if (event.more) tally.pages += 1;
      else this.#compare(event);
    }
    this.#changed();
  }

  #compare({ place, head }: Extract<LiveEvent, { event: "update" }>): void {
    const { truths, transport, tally } = this.#options;
    const differences = truths.at(place).map((truth) => {
      const right = JSON.stringify(transport.headOf(truth));
      const found = JSON.stringify(head);
      return [
        ...(found === right ? [] : [`the head is ${found} and should be ${right}`]),
        ...this.#copy.differences(truth),
      ];
    });
    if (!differences.some((found) => found.length === 0)) {
      const found = differences[0]?.join("\n") ?? "nothing was written there";
      throw new Error(`at ${place}: ${found}`);
    }
    tally.compared += 1;
    this.place = place;
  }

  #story(): string {
    return `By ${this.#options.transport.name} it got\n${this.#got.slice(-12).join("\n")}`;
  }

  #changed(): void {
    this.#onChange.resolve(undefined);
    this.#onChange = Promise.withResolvers();
  }
}

const isBehind = (event: LiveEvent): boolean =>
  (event.event === "closed" && event.reason === "behind") ||
  (event.event === "reset" && event.reason.startsWith("more than"));

const textOf = (event: LiveEvent): string =>
  JSON.stringify(event, (_key, value: unknown) =>
    value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  );
