// The pages that a client which comes back has missed.
import type { Pool } from "../../db/connect.ts";
import type { Place } from "../place.ts";
import { findPairs } from "../queries/pairs.ts";
import { inSnapshot } from "../queries/snapshot.ts";
import { concrete, type AskedTopic } from "./asked-topics.ts";
import { follow, type Followed } from "./changes.ts";
import { eventsOf, type LiveEvent } from "./events.ts";
import { PoolTurns } from "./pool-turns.ts";
import { readingOf } from "./reading.ts";
import { byData, type Bounds, type Reading, type States, type Topic } from "./topic.ts";

export interface PageReader {
  /** Whose it is; each without one is for itself. */
  readonly client?: string | undefined;
  isClosed: () => boolean;
}

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
  /** Pages of old places are large: more of them at once would take REST's connections. */
  readonly #turns = new PoolTurns();

  constructor(options: MissedOptions<Message>) {
    this.#options = options;
  }

  /** All pages but the last, which is of the head. */
  async *after(
    asked: readonly AskedTopic[],
    since: Place | undefined,
    reader: PageReader,
  ): AsyncGenerator<Page<Message>> {
    for (let from = since; from !== undefined;) {
      const page = await this.#turns.run(reader.client, async () => {
        return reader.isClosed() || from === undefined ? undefined : this.#readPage(asked, from);
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
