// Subscriptions by WebSocket as a transport of live data.
import type { Client } from "graphql-ws";
import { UNAVAILABLE_CODES } from "../../faults/told.ts";
import { connectTo, type SubscriptionEvent } from "../../subscription-client.ts";
import {
  clientOf,
  isHistory,
  NO_CONNECTION,
  Refused,
  type Asked,
  type Change,
  type Kind,
  type LiveEvent,
  type Transport,
} from "./live-client.ts";
import { selectionOf } from "./live-truth.ts";

const EACH = "cursor head { block time } retractedTo { block time trade } reset";
const nodes = (kind: Kind): string => `nodes { ${selectionOf(kind)} }`;

const DOCUMENTS: Record<Kind, string> = {
  head: `subscription { dexHead { ${EACH} ${nodes("head")} } }`,
  trades: `subscription ($market: String, $taker: String, $maker: String, $after: String) {
    dexTrades(market: $market, taker: $taker, maker: $maker, after: $after) {
      ${EACH} more ${nodes("trades")}
    }
  }`,
  market: `subscription ($pairs: [String!]) {
    dexMarkets(pairs: $pairs) { ${EACH} removed ${nodes("market")} }
  }`,
  summary: `subscription ($pairs: [String!]) {
    dexSummaries(pairs: $pairs) { ${EACH} removed ${nodes("summary")} }
  }`,
  candles: `subscription ($base: String!, $quote: String!, $interval: String!, $after: String) {
    dexCandles(base: $base, quote: $quote, interval: $interval, after: $after) {
      ${EACH} ${nodes("candles")}
    }
  }`,
  book: `subscription ($base: String!, $quote: String!, $depth: Int!) {
    dexBook(base: $base, quote: $quote, depth: $depth) { ${EACH} whole ${nodes("book")} }
  }`,
};

function variablesOf({ kind, market, taker, maker, interval, depth }: Asked, after?: string) {
  const [base, quote] = market?.split("/") ?? [];
  switch (kind) {
    case "head":
      return {};
    case "trades":
      return { market, taker, maker, after };
    case "candles":
      return { base, quote, interval, after };
    case "book":
      return { base, quote, depth };
    default:
      return market === undefined ? {} : { pairs: [market] };
  }
}

/** An event with only the fields that its type has. */
type AnyEvent = Pick<SubscriptionEvent, "cursor" | "head" | "retractedTo" | "reset"> &
  Partial<SubscriptionEvent>;

/** The service stops, the machine is slow, or the connection is lost: a client comes back. */
const COMES_BACK = [1000, 1005, 1006, 1012, 1013];

/** Errors of a socket before the service has answered the upgrade. */
const LOST = /ECONNREFUSED|ECONNRESET|EPIPE|socket hang up/;

/** By the code of an error, or by the status of the upgrade: 503 also until the service has read its schema. */
const REFUSALS: Record<string, Refused["why"]> = {
  ...{ BAD_USER_INPUT: "input", TOO_MANY_AT_ONCE: "limit", 429: "limit", 503: "unavailable" },
  ...Object.fromEntries(UNAVAILABLE_CODES.map((code) => [code, "unavailable" as const])),
};

export const subscriptions: Transport = {
  name: "subscriptions",
  carriesMany: false,
  takesPlace: isHistory,
  headOf: ({ head }) => head,
  rowsOf: (asked, truth) => truth.rows(asked),
  connect(url) {
    const client = connectTo(url);
    const { promise: opened, resolve } = Promise.withResolvers<undefined>();
    client.on("connected", () => resolve(undefined));
    client.on("closed", () => resolve(undefined));
    const state = { isClosed: false };
    return {
      opened,
      follow: ([asked, ...others], after) => {
        if (asked === undefined || others.length > 0)
          throw new Error("a subscription has one topic");
        return clientOf(read(client, state, asked, after));
      },
      close() {
        state.isClosed = true;
        client.terminate();
      },
    };
  },
};

async function* read(
  client: Client,
  state: { isClosed: boolean },
  asked: Asked,
  after?: string,
): AsyncGenerator<LiveEvent, void> {
  const query = DOCUMENTS[asked.kind];
  const variables = variablesOf(asked, after);
  try {
    for await (const { data, errors } of client.iterate<Record<string, AnyEvent>>({
      query,
      variables,
    })) {
      if (errors !== undefined) throw errors as unknown as Error;
      const [event] = Object.values(data ?? {});
      if (event !== undefined) yield* eventsOf(asked, event);
    }
  } catch (error) {
    if (state.isClosed) return;
    const { code, message, reason = "" } = error as Partial<CloseEvent> & { message?: unknown };
    if (COMES_BACK.some((each) => each === code)) yield { event: "closed", reason };
    else if (LOST.test(String(message))) {
      yield { event: "closed", reason: NO_CONNECTION };
    } else throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  const [first] = (Array.isArray(error) ? error : [error]) as {
    message?: unknown;
    extensions?: { code?: string };
  }[];
  const message = String(first?.message);
  const status = /response: (\d+)$/.exec(message)?.[1];
  const why = REFUSALS[first?.extensions?.code ?? status ?? ""];
  if (why !== undefined) return new Refused(why, message);
  return error instanceof Error ? error : new Error(describe(error));
}

/** Errors of GraphQL, or an event of `ws`, whose fields are getters. */
function describe(error: unknown): string {
  if (Array.isArray(error)) return JSON.stringify(error);
  const { type, code, reason, message } = error as Record<string, unknown>;
  return JSON.stringify({ type, code, reason, message });
}

function* eventsOf(asked: Asked, event: AnyEvent): Generator<LiveEvent> {
  const { cursor: place, head, retractedTo, reset, more = false } = event;
  if (reset !== null) yield { event: "reset", reason: reset };
  else if (retractedTo !== null) {
    yield { event: "retract", ...retractedTo, trade: Number(retractedTo.trade) };
  }
  const { nodes = [], removed = [], whole } = event;
  const change: Change = { rows: nodes, removed, ...(whole !== undefined && { whole }) };
  yield { event: "update", place, head, changes: new Map([[asked, change]]), more };
}
