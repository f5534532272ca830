// Topics as clients ask for them: of one market, or of all.
import type { PairName } from "../queries/snapshot.ts";
import { topicOf, type Topic, type TopicKind } from "./topic.ts";

export type AskedTopic = Topic | AllMarkets;

export interface AllMarkets {
  kind: TopicKind;
  name: string;
  pair: "*";
}

/** Those of equal names once. */
export const unlike = (topics: readonly Topic[]): Topic[] => [
  ...new Map(topics.map((topic) => [topic.name, topic])).values(),
];

/** The topics with `*` as one of each market. */
export const concrete = (asked: readonly AskedTopic[], pairs: readonly PairName[]): Topic[] =>
  unlike(
    asked.flatMap((topic) =>
      topic.pair === "*" ? pairs.map((pair) => topicOf(topic.kind, pair)) : [topic],
    ),
  );
