// The topics that a client asks for, with the symbols as registered.
import type { Pool } from "../../db/connect.ts";
import type { AskedTopic } from "../../market/live/asked-topics.ts";
import type { Feed } from "../../market/live/feed.ts";
import { topicOf, type Topic } from "../../market/live/topic.ts";
import { findPair } from "../../market/queries/pairs.ts";
import type { Frame } from "./frame.ts";
import { BadTopics, shown } from "./topic-names.ts";

/** Throws BadTopics for a market that is not registered. */
export async function registeredTopics(
  asked: readonly AskedTopic[],
  feed: Pick<Feed<Frame>, "pairs">,
  pool: Pool,
): Promise<AskedTopic[]> {
  const problems: string[] = [];
  const topics = new Map<string, AskedTopic>();
  for (const topic of asked) {
    const found = topic.pair === "*" ? topic : await registered(topic, feed, pool);
    if (found === undefined) problems.push(`${shown(topic.name)} has an unknown market`);
    else topics.set(found.name, found);
  }
  if (problems.length > 0) throw new BadTopics(problems);
  return [...topics.values()];
}

async function registered(
  topic: Topic,
  { pairs }: Pick<Feed<Frame>, "pairs">,
  pool: Pool,
): Promise<Topic | undefined> {
  const { kind, pair, argument } = topic;
  if (pair === undefined) return topic;
  if (pairs.some(({ base, quote }) => base === pair.base && quote === pair.quote)) return topic;
  const [row] = (await findPair(pool, pair)).rows;
  return row && topicOf(kind, row, argument);
}
