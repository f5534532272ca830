// Messages of a WebSocket at random: those of graphql-ws in any order and number, broken ones, and fragments.
import fc from "fast-check";

/** A frame of a text; `isLast` is false where the next one goes on with it. */
export interface SentFrame {
  data: string | Buffer;
  isLast: boolean;
}

/** So few that they meet. */
const id = fc.constantFrom("1", "2", "3", "");

const DOCUMENTS = [
  "subscription { dexHead { cursor head { block } } }",
  "subscription ($after: String) { dexTrades(after: $after) { cursor nodes { id } } }",
  'subscription { dexBook(base: "WETH", quote: "DAI") { cursor nodes { price vol } } }',
  'subscription { dexCandles(base: "x", quote: "y") { cursor } }',
  "subscription { dexMarkets { nodes { pair } } }",
  "{ dexHead { block } }",
  "subscription { nothing }",
  "subscription {",
];

const payload = fc.record(
  {
    query: fc.oneof(fc.constantFrom(...DOCUMENTS), fc.string()),
    variables: fc.oneof(
      fc.constant({ after: "5c0f7a1e.0.0.1.1" }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    ),
    operationName: fc.oneof(fc.constant(null), fc.string()),
    extensions: fc.jsonValue(),
  },
  { requiredKeys: ["query"] },
);

const message = fc.oneof(
  { weight: 6, arbitrary: fc.record({ id, type: fc.constant("subscribe"), payload }) },
  { weight: 4, arbitrary: fc.record({ id, type: fc.constant("complete") }) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        type: fc.constantFrom("ping", "pong"),
        payload: fc.dictionary(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: ["type"] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      id,
      type: fc.oneof(fc.constantFrom("connection_init", "next", "error"), fc.string()),
      payload: fc.jsonValue(),
    }),
  },
  { weight: 1, arbitrary: fc.jsonValue() },
);

const frame: fc.Arbitrary<SentFrame> = fc.oneof(
  {
    weight: 20,
    arbitrary: message.map((each) => ({ data: JSON.stringify(each), isLast: true })),
  },
  { weight: 1, arbitrary: fc.record({ data: fc.string(), isLast: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      data: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      isLast: fc.constant(true),
    }),
  },
);

/** Subscriptions of one document, each under another id. */
const flood: fc.Arbitrary<SentFrame[]> = fc
  .tuple(payload, fc.integer({ min: 41, max: 300 }))
  .map(([each, count]) =>
    Array.from({ length: count }, (_, n) => ({
      data: JSON.stringify({ id: `${n}`, type: "subscribe", payload: each }),
      isLast: true,
    })),
  );

/** What follows connection_init, where that comes first. */
export const messages = fc.record({
  isInitialised: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  frames: fc.oneof(
    { weight: 19, arbitrary: fc.array(frame, { minLength: 1, maxLength: 40 }) },
    { weight: 1, arbitrary: flood },
  ),
});

export type Messages = typeof messages extends fc.Arbitrary<infer Given> ? Given : never;

/** Connections that are upgraded at once, and what each sends then, also where it was refused. */
export const upgrades = fc.record({
  connections: fc.integer({ min: 1, max: 40 }),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 2000 }),
  /** Whether a client that was refused ends its side. */
  ends: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
});

export type Upgrades = typeof upgrades extends fc.Arbitrary<infer Given> ? Given : never;
