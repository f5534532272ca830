// A client of subscriptions in the random histories of followers.ts: one WebSocket, and a copy for each subscription.
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import type { Client } from "graphql-ws";
import type { Pool } from "../db/connect.ts";
import { STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import { GRAPHQL_LIMITS } from "../server/graphql/limits/limits.ts";
import type { Interval } from "../server/http/live/candle-intervals.ts";
import { makeTestApp, type TestApp } from "./app.ts";
import { anAddress } from "./factories.ts";
import {
  KEPT,
  type Follower,
  type Protocol,
  type Tally,
  type TopicChoice,
  type Truths,
} from "./followers.ts";
import type { Exchange } from "./histories.ts";
import { connectTo } from "./subscription-client.ts";
import { SubscriptionCopy, takesAfter, type AnyEvent, type Field } from "./subscription-copy.ts";
import {
  readSubscriptionTruth,
  selectionOf,
  type SubscriptionTruth,
} from "./subscription-truth.ts";

export const subscriptions: Protocol<SubscriptionTruth> = {
  readTruth: (writer) => readSubscriptionTruth(writer, KEPT),
  follower: (...given) => new SubscriptionFollower(...given),
};

/** Resolves when no snapshot of a client that is gone is read any more: it would hold up the emptying of the tables. */
export async function untilIdle(reader: Pool): Promise<void> {
  while (reader.idleCount < reader.totalCount) await setImmediate();
}

/** Looks at the data all the time. Pages are so small that short histories have some, and miss too many candles. */
export const startSubscriptions = (pool: Pool): Promise<TestApp> =>
  makeTestApp(pool, {
    cache: "off",
    limits: { ...GRAPHQL_LIMITS, planningMs: 60_000, page: 4 },
    streams: { ...STREAM_LIMITS, checkMs: 1, lagMs: 600_000, perClient: STREAM_LIMITS.all },
  });

const EACH = "cursor head { block time } retractedTo { block time trade } reset";

const DOCUMENTS: Record<Field, string> = {
  dexHead: `subscription { dexHead { ${EACH} } }`,
  dexTrades: `subscription ($market: String, $taker: String, $maker: String, $after: String) {
    dexTrades(market: $market, taker: $taker, maker: $maker, after: $after) {
      ${EACH} more nodes { ${selectionOf("dexTrades")} }
    }
  }`,
  dexMarkets: `subscription ($pairs: [String!]) {
    dexMarkets(pairs: $pairs) { ${EACH} removed nodes { ${selectionOf("dexMarkets")} } }
  }`,
  dexCandles: `subscription ($base: String!, $quote: String!, $interval: String!, $after: String) {
    dexCandles(base: $base, quote: $quote, interval: $interval, after: $after) {
      ${EACH} nodes { ${selectionOf("dexCandles")} }
    }
  }`,
  dexBook: `subscription ($base: String!, $quote: String!, $depth: Int!) {
    dexBook(base: $base, quote: $quote, depth: $depth) {
      ${EACH} whole nodes { ${selectionOf("dexBook")} }
    }
  }`,
};

const FIELDS: Record<TopicChoice["kind"], Field> = {
  head: "dexHead",
  trades: "dexTrades",
  market: "dexMarkets",
  summary: "dexMarkets",
  candles: "dexCandles",
  book: "dexBook",
};

/** What a subscription asks for. */
interface Asked {
  /** The name of its market; undefined for all. */
  market: string | undefined;
  /** Of its rows in the truth. */
  key: string;
  variables: Record<string, unknown>;
}

/** The service stops, the machine is slow, or the connection is lost: a client comes back. */
const COMES_BACK = [1000, 1005, 1006, 1012, 1013];

/** A service that is started anew takes no connection, and then answers 503 until it has read its schema. */
const STARTS_ANEW = /ECONNREFUSED|response: 503$/;

const isLost = (error: unknown): boolean => {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return COMES_BACK.some((each) => each === code) || STARTS_ANEW.test(String(message));
};

const codeOfError = (error: unknown): unknown =>
  Array.isArray(error)
    ? (error as { extensions?: { code?: unknown } }[])[0]?.extensions?.code
    : undefined;

class SubscriptionFollower implements Follower {
  readonly #subscribers: readonly Subscriber[];
  #url = "";
  #client: Client | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(
    choices: readonly TopicChoice[],
    exchange: Exchange,
    truths: Truths<SubscriptionTruth>,
    tally: Tally,
  ) {
    this.#subscribers = choices.map((choice) => new Subscriber(choice, exchange, truths, tally));
  }

  throwIfWrong(): void {
    for (const { error } of this.#subscribers) if (error !== undefined) throw error;
  }

  async cutOff(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    client?.terminate();
    await this.#reading;
  }

  async connect(url: string): Promise<void> {
    await this.cutOff();
    const client = connectTo(url);
    this.#url = url;
    this.#client = client;
    const isConnected = (): boolean => this.#client === client;
    const { promise: opened, resolve } = Promise.withResolvers<undefined>();
    client.on("connected", () => resolve(undefined));
    this.#reading = Promise.all(
      this.#subscribers.map((subscriber) => subscriber.follow(client, isConnected)),
    );
    // So that what the history does next meets an open connection.
    await Promise.race([opened, this.#reading]);
  }

  async comparedAt(place: string): Promise<void> {
    for (;;) {
      await this.#until((subscriber) => subscriber.place === place);
      this.throwIfWrong();
      if (this.#subscribers.every((subscriber) => subscriber.place === place)) return;
      await this.connect(this.#url);
    }
  }

  async caughtUp(): Promise<void> {
    if (this.#client !== undefined) await this.#until((subscriber) => subscriber.hasLast);
    this.throwIfWrong();
  }

  /** Resolves when the condition holds for each, or the connection is lost. */
  async #until(isTrue: (subscriber: Subscriber) => boolean): Promise<void> {
    const all = Promise.all(
      this.#subscribers.map((subscriber) => subscriber.until(() => isTrue(subscriber))),
    );
    await Promise.race([all, this.#reading]);
  }
}

class Subscriber {
  error: Error | undefined;
  /** Of the last event since it connected with which the copy was compared. */
  place: string | undefined;
  readonly #choice: TopicChoice;
  readonly #exchange: Exchange;
  readonly #truths: Truths<SubscriptionTruth>;
  readonly #tally: Tally;
  readonly #field: Field;
  #copy: SubscriptionCopy;
  #asked: Asked;
  /** What it was told, for the message of an error. */
  #told: string[] = [];
  #onChange = Promise.withResolvers<undefined>();

  constructor(
    choice: TopicChoice,
    exchange: Exchange,
    truths: Truths<SubscriptionTruth>,
    tally: Tally,
  ) {
    this.#choice = choice;
    this.#exchange = exchange;
    this.#truths = truths;
    this.#tally = tally;
    this.#field = FIELDS[choice.kind];
    this.#copy = this.#newCopy();
    this.#asked = this.#ask();
  }

  /** Whether the copy is what the tables had last. */
  get hasLast(): boolean {
    if (this.place === undefined) return false;
    return this.#differenceFrom(this.#truths.last) === undefined;
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (this.error === undefined && !isTrue()) await this.#onChange.promise;
  }

  #newCopy(): SubscriptionCopy {
    return new SubscriptionCopy(this.#field, this.#choice.interval as Interval);
  }

  #ask(): Asked {
    const { pair, of, interval, depth } = this.#choice;
    const { pairs } = this.#exchange.recording;
    const { base = "", quote = "" } = pairs[pair === "*" ? 0 : pair % pairs.length]!;
    const name = `${base}/${quote}`;
    const market = pair === "*" ? undefined : name;
    switch (this.#field) {
      case "dexHead":
        return { market: undefined, key: "dexHead", variables: {} };
      case "dexTrades": {
        const party = of === "all" ? {} : { [of]: anAddress(of) };
        return { market, key: `dexTrades ${market ?? "*"}`, variables: { market, ...party } };
      }
      case "dexMarkets":
        return {
          market,
          key: `dexMarkets ${market ?? "*"}`,
          variables: market === undefined ? {} : { pairs: [market] },
        };
      case "dexCandles":
        return {
          market: name,
          key: `dexCandles ${name} ${interval}`,
          variables: { base, quote, interval },
        };
      case "dexBook":
        return { market: name, key: `dexBook ${name} ${depth}`, variables: { base, quote, depth } };
    }
  }

  /** Goes on where it was, until the connection is lost. Begins anew where its market has another name. */
  async follow(client: Client, isConnected: () => boolean): Promise<void> {
    this.place = undefined;
    if (this.#copy.cursor !== undefined) this.#tally.resumed += 1;
    try {
      while (isConnected()) await this.#subscribe(client, isConnected);
    } catch (error) {
      if (isConnected() && !isLost(error)) this.#fail(error);
    }
  }

  async #subscribe(client: Client, isConnected: () => boolean): Promise<void> {
    const { cursor } = this.#copy;
    if (cursor === undefined) this.#asked = this.#ask();
    this.#copy.subscribe();
    const after = takesAfter(this.#field) ? { after: cursor } : {};
    this.#told.push(`subscribes to ${this.#asked.key} with ${cursor}`);
    const query = DOCUMENTS[this.#field];
    const variables = { ...this.#asked.variables, ...after };
    try {
      for await (const { data, errors } of client.iterate<Record<string, AnyEvent>>({
        query,
        variables,
      })) {
        if (!isConnected()) return;
        if (errors !== undefined) throw errors as unknown as Error;
        this.#take(data![this.#field]!);
      }
    } catch (error) {
      if (!isConnected()) return;
      await this.#comeBackAfter(error);
    }
  }

  async #comeBackAfter(error: unknown): Promise<void> {
    const code = codeOfError(error);
    if (code === "BAD_USER_INPUT") this.#beginAnew();
    // A standby cancels statements that would hold up its replay.
    else if (code !== "UNAVAILABLE") throw error;
    await sleep(20);
  }

  #beginAnew(): void {
    const { market } = this.#asked;
    const wasGone = this.#truths.all.some(({ markets }) => !markets.has(market ?? ""));
    // A standby may not have a market yet that another service has told of.
    if (this.#copy.cursor !== undefined && takesAfter(this.#field) && !wasGone) {
      throw new Error(`${market} is refused, and was always registered\n${this.#story()}`);
    }
    this.#copy = this.#newCopy();
    this.#told = [];
  }

  #take(event: AnyEvent): void {
    this.#told.push(JSON.stringify(event));
    if (event.retractedTo !== null) this.#tally.retractions += 1;
    if (event.reset !== null) this.#tally.resets += 1;
    try {
      this.#copy.apply(event);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.#story()}`, { cause: error });
    }
    if (event.more === true) this.#tally.pages += 1;
    else this.#compare(event);
    this.#changed();
  }

  #compare({ cursor, head }: AnyEvent): void {
    const truths = this.#truths.at(cursor);
    const isRight = truths.some(
      (truth) =>
        JSON.stringify(truth.head) === JSON.stringify(head) &&
        this.#differenceFrom(truth) === undefined,
    );
    if (!isRight) {
      const [truth] = truths;
      const found = truth && `${JSON.stringify(truth.head)}: ${this.#differenceFrom(truth)}`;
      throw new Error(`at ${cursor}: ${found ?? "nothing was written there"}\n${this.#story()}`);
    }
    this.#tally.compared += 1;
    this.place = cursor;
  }

  #differenceFrom({ rows }: SubscriptionTruth): string | undefined {
    const right = rows.get(this.#asked.key);
    return right === undefined
      ? `${this.#asked.key} is not registered`
      : this.#copy.differenceFrom(right);
  }

  #story(): string {
    return `${this.#asked.key} was told\n${this.#told.slice(-12).join("\n")}`;
  }

  #fail(error: unknown): void {
    const text = (): string => `${inspect(error)}\n${this.#story()}`;
    this.error ??= error instanceof Error ? error : new Error(text());
    this.#changed();
  }

  #changed(): void {
    this.#onChange.resolve(undefined);
    this.#onChange = Promise.withResolvers();
  }
}
