// Clients that use event streams and subscriptions in the worst ways, over and over, until they are stopped.
import { setTimeout as sleep } from "node:timers/promises";
import { frameOf, RawConnection, UPGRADE, type Reading } from "./raw-connection.ts";

export type Transport = "SSE" | "WebSocket";

export interface HostileTarget {
  url: string;
  /** Symbols of a market with trades and a book. */
  base: string;
  quote: string;
  /** A place before the first trade, from which much is missing. */
  oldPlace: string;
}

/** What is asked on one connection: the path of a stream, or subscriptions. */
type Asked = string | readonly Operation[];

interface Operation {
  query: string;
  variables?: object;
}

interface Behaviour {
  transport: Transport;
  /** `n` differs for each connection. */
  ask: (target: HostileTarget, n: number) => Asked;
  reading: Reading;
  /** Whether it leaves at the first event. */
  leaves?: true;
}

export const BEHAVIOURS = {
  "never reads (SSE)": { transport: "SSE", reading: "nothing", ask: pathOfAll },
  "reads a byte a second (SSE)": {
    ...{ transport: "SSE", reading: "a byte a second", ask: pathOfAll },
  },
  "follows (SSE)": {
    ...{ transport: "SSE", reading: "all" },
    ask: (target) => pathOf(target, ["trades"]),
  },
  "opens and closes (SSE)": { transport: "SSE", reading: "all", leaves: true, ask: pathOfAll },
  "has many topics (SSE)": {
    ...{ transport: "SSE", reading: "all" },
    ask: (target, n) => pathOf(target, manyBooks(n)),
  },
  "comes back from an old place (SSE)": {
    ...{ transport: "SSE", reading: "all", leaves: true },
    // Another place each time, so that no client shares what another one reads.
    ask: (target, n) =>
      `${pathOf(target, ["trades", "candles:1m", "candles:5m"])}&from=${later(target.oldPlace, n)}`,
  },
  "never reads (WebSocket)": { transport: "WebSocket", reading: "nothing", ask: operations },
  "reads a byte a second (WebSocket)": {
    ...{ transport: "WebSocket", reading: "a byte a second", ask: operations },
  },
  "follows (WebSocket)": {
    ...{ transport: "WebSocket", reading: "all" },
    ask: ({ base, quote }) => times(SUBSCRIPTIONS, () => tradesOf({ market: `${base}/${quote}` })),
  },
  "opens and closes (WebSocket)": {
    ...{ transport: "WebSocket", reading: "all", leaves: true },
    ask: (target) => operations(target).slice(0, 1),
  },
  "has many topics (WebSocket)": {
    ...{ transport: "WebSocket", reading: "all" },
    ask: (target, n) => times(SUBSCRIPTIONS, (k) => bookOf(target, depthOf(n * SUBSCRIPTIONS + k))),
  },
  "comes back from an old place (WebSocket)": {
    ...{ transport: "WebSocket", reading: "all", leaves: true },
    ask: ({ oldPlace }, n) => [tradesOf({ after: later(oldPlace, n) })],
  },
  "sends new documents (WebSocket)": {
    ...{ transport: "WebSocket", reading: "all", leaves: true },
    ask: (target, n) => [newDocument(n)],
  },
} as const satisfies Record<string, Behaviour>;

export type Kind = keyof typeof BEHAVIOURS;

export const KINDS = Object.keys(BEHAVIOURS) as Kind[];

/** Subscriptions of a connection: more are refused. */
export const SUBSCRIPTIONS = 32;

const times = <Made>(count: number, make: (n: number) => Made): Made[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** The topics are of the target's market: a kind, and an argument after a colon. */
function pathOf({ base, quote }: HostileTarget, topics: readonly string[]): string {
  const names = topics.map((topic) => {
    const [kind = "", argument] = topic.split(":");
    if (kind === "head") return kind;
    return [kind, `${base}/${quote}`, argument].filter(Boolean).join(":");
  });
  return `/v2/stream?topics=${names.join(",")}`;
}

function pathOfAll(target: HostileTarget): string {
  return pathOf(target, ["head", "trades", "candles:1m", "book:1000"]);
}

/** About as many as a stream may have. */
const BOOKS = 60;

const depthOf = (n: number): number => (n % 100) + 1;

const manyBooks = (n: number): string[] => times(BOOKS, (k) => `book:${depthOf(n * BOOKS + k)}`);

const TRADES = `subscription ($market: String, $after: String) {
  dexTrades(market: $market, after: $after) { cursor nodes { id tx maker taker offer { id tx } } }
}`;
const BOOK = `subscription ($base: String!, $quote: String!, $depth: Int!) {
  dexBook(base: $base, quote: $quote, depth: $depth) {
    cursor nodes { act price vol quoteVol offers }
  }
}`;

const tradesOf = (variables: object): Operation => ({ query: TRADES, variables });

const bookOf = ({ base, quote }: HostileTarget, depth: number): Operation => ({
  query: BOOK,
  variables: { base, quote, depth },
});

/** A document that is planned anew: no two numbers give the same. */
const newDocument = (n: number): Operation => ({
  query: TRADES.replace("cursor", `cursor a${n}: head { block }`),
});

function operations(target: HostileTarget): Operation[] {
  return times(SUBSCRIPTIONS, (n) => (n % 2 === 0 ? bookOf(target, 1000) : tradesOf({})));
}

/** The same place, with a trade's id that no trade need have. */
const later = (place: string, n: number): string => place.replace(/\d+$/, String(n % 1000));

export interface Tally {
  /** Connections on which a stream has begun, and those that were refused. */
  opened: number;
  refused: number;
  closed: number;
}

export interface Hostile {
  tally: Tally;
  /** Resolves when each client has come once. */
  begun: Promise<void>;
  stop: () => Promise<void>;
}

/** Clients that come at once: more would wait in the kernel's queue, and try again after a second. */
const COME_AT_ONCE = 200;
/** A client that was refused comes again after so long. */
const REFUSED_MS = 1000;

export function startHostile(kind: Kind, target: HostileTarget, clients: number): Hostile {
  const behaviour: Behaviour = BEHAVIOURS[kind];
  const tally: Tally = { opened: 0, refused: 0, closed: 0 };
  const open = new Set<RawConnection>();
  const stopping = new AbortController();
  let turn = 0;
  const isStopping = (): boolean => stopping.signal.aborted;

  const play = async (onBegun: () => void): Promise<void> => {
    while (!isStopping()) {
      const connection = new RawConnection(target.url, behaviour.reading);
      open.add(connection);
      const isOpen = await begin(connection, behaviour.ask(target, (turn += 1)));
      if (isOpen) tally.opened += 1;
      else if (!isStopping()) tally.refused += 1;
      onBegun();
      if (!isOpen || isStopping()) connection.close();
      else if (behaviour.leaves) {
        await connection.until(/event: |"type":"next"/);
        connection.close();
      } else connection.read(behaviour.reading);
      await connection.closed;
      open.delete(connection);
      tally.closed += 1;
      if (!isOpen) {
        await sleep(REFUSED_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };

  const running: Promise<void>[] = [];
  const comeAll = async (): Promise<void> => {
    for (let from = 0; from < clients; from += COME_AT_ONCE) {
      const count = Math.min(COME_AT_ONCE, clients - from);
      const begun = Array.from({ length: count }, () => {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        running.push(play(() => resolve(undefined)));
        return promise;
      });
      await Promise.all(begun);
    }
  };
  return {
    tally,
    begun: comeAll(),
    async stop() {
      stopping.abort();
      for (const connection of open) connection.close();
      await Promise.all(running);
    },
  };
}

/** Returns whether the stream, or the first subscription, has begun. */
const begin = (connection: RawConnection, asked: Asked): Promise<boolean> =>
  typeof asked === "string"
    ? beginStream(connection, asked)
    : beginSubscriptions(connection, asked);

async function beginStream(connection: RawConnection, path: string): Promise<boolean> {
  connection.send(`GET ${path} HTTP/1.1\r\nHost: hostile\r\n\r\n`);
  const [, status] = (await connection.until(/HTTP\/1\.1 (\d+) /)) ?? [];
  return status === "200";
}

async function beginSubscriptions(
  connection: RawConnection,
  asked: readonly Operation[],
): Promise<boolean> {
  connection.send(UPGRADE);
  connection.send(frameOf('{"type":"connection_init"}'));
  const [answer] = (await connection.until(/connection_ack|HTTP\/1\.1 [245]\d\d /)) ?? [];
  if (answer !== "connection_ack") return false;
  for (const [id, payload] of asked.entries()) {
    const message = { id: String(id), type: "subscribe", payload };
    connection.send(frameOf(JSON.stringify(message)));
  }
  return (await connection.until(/"type":"(?:next|error)"/))?.[0] === '"type":"next"';
}
