// The topics: a new one is a file in topics/ and a line here.
import type { TopicKind } from "./topic.ts";
import { bookTopic } from "./topics/book.ts";
import { candlesTopic } from "./topics/candles.ts";
import { headTopic } from "./topics/head.ts";
import { marketTopic } from "./topics/market.ts";
import { summaryTopic } from "./topics/summary.ts";
import { tradesTopic } from "./topics/trades.ts";

export const TOPIC_KINDS: readonly TopicKind[] = [
  headTopic,
  tradesTopic,
  marketTopic,
  summaryTopic,
  candlesTopic,
  bookTopic,
];
