// The topics: a new one is a file in topics/ and a line here.
import type { TopicKind } from "./topic.ts";
import { bookTopic } from "./topics/book-topic.ts";
import { candlesTopic } from "./topics/candles-topic.ts";
import { headTopic } from "./topics/head-topic.ts";
import { marketTopic } from "./topics/market-topic.ts";
import { summaryTopic } from "./topics/summary-topic.ts";
import { tradesTopic } from "./topics/trades-topic.ts";

export const TOPIC_KINDS: readonly TopicKind[] = [
  headTopic,
  tradesTopic,
  marketTopic,
  summaryTopic,
  candlesTopic,
  bookTopic,
];
