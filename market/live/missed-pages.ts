// The pages that a client which comes back has missed.
import type { Pool } from "../../db/connect.ts";
import type { Place } from "../place.ts";
import { findPairs } from "../queries/pairs.ts";
import { inSnapshot } from "../queries/snapshot.ts";
import { concrete, type AskedTopic } from "./asked-topics.ts";
import { follow, type Followed } from "./changes.ts";
import { eventsOf, type LiveEvent } from "./events.ts";
import { readingOf } from "./reading.ts";
import { byData, type Bounds, type Reading, type States, type Topic } from "./topic.ts";

const MAX_PAGES_IN_FLIGHT = 2;

export interface Page<Message> {
  place: Place;
  messages: Message[];
}

interface MissedOptions<Message> {
  clientPool: Pool;
  bounds: Bounds;
  messageOf: (event: LiveEvent) => Message;
}

const NOTHING: States = new Map();

export class MissedPages<Message> {
  readonly #options: MissedOptions<Message>;
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(options: MissedOptions<Message>) {
    this.#options = options;
  }

  /** All pages but the last, which is of the head. */
  async *after(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    isGone: () => boolean,
  ): AsyncGenerator<Page<Message>> {
    for (let from = since; from !== undefined;) {
      const page = await this.#inTurn(async () => {
        return isGone() || from === undefined ? undefined : this.#readPage(asked, from);
      });
      if (page === undefined) return;
      yield page;
      from = page.place;
    }
  }

  /** What a client gets first, up to a page; `known` has the states of the head that are read already. */
  read(
    reading: Reading,
    topics: readonly Topic[],
    since: Place | undefined,
    known?: States,
  ): Promise<Followed> {
    return follow(reading, topics, {
      line: since && { place: since, states: NOTHING },
      bounds: this.#options.bounds,
      print: byData,
      ...(known && { known }),
    });
  }

  /** Pages of old places are large: more of them at once would take REST's connections. */
  async #inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    while (this.#inFlight.size >= MAX_PAGES_IN_FLIGHT) {
      await Promise.race(this.#inFlight).catch(() => undefined);
    }
    const reading = read();
    this.#inFlight.add(reading);
    return reading.finally(() => this.#inFlight.delete(reading));
  }

  async #readPage(asked: readonly AskedTopic[], since: Place): Promise<Page<Message> | undefined> {
    return inSnapshot(this.#options.clientPool, async (db) => {
      const reading = await readingOf(db);
      const topics = concrete(asked, (await findPairs(db)).rows);
      const step = await this.read(reading, topics, since);
      if (!step.more) return undefined;
      const events = eventsOf(step, topics, { trade: since.trade, isFirst: true });
      return { place: step.place, messages: events.map(this.#options.messageOf) };
    });
  }
}
