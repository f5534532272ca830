// Follows subscriptions as a client of graphql-ws does.
import { createClient, type Client, type ClientOptions } from "graphql-ws";
import { WebSocket } from "ws";

/** An event with the fields that most tests select. */
export interface SubscriptionEvent {
  cursor: string;
  head: { block: number; time: string } | null;
  retractedTo: { block: number | null; time: string | null; trade: string } | null;
  reset: string | null;
  more: boolean;
  whole: boolean;
  removed: string[];
  nodes: Record<string, unknown>[];
}

export interface SubscriptionError {
  message: string;
  extensions?: Record<string, unknown>;
}

export interface Followed {
  /** The next event of the subscription's field. */
  next: () => Promise<SubscriptionEvent>;
  /** All events until the one that `isLast` accepts. */
  until: (isLast: (event: SubscriptionEvent) => boolean) => Promise<SubscriptionEvent[]>;
  /** Ends the subscription. */
  end: () => Promise<unknown>;
}

/** graphql-ws takes its own listener away when it terminates a connection; where that is not open yet, ws throws. */
class CutOffAnyTime extends WebSocket {
  constructor(...args: ConstructorParameters<typeof WebSocket>) {
    super(...args);
    this.on("error", () => undefined);
  }
}

/** Connects when it subscribes, and never again. */
export const connectTo = (url: string, options: Partial<ClientOptions> = {}): Client =>
  createClient({
    url: `${url.replace("http", "ws")}/graphql`,
    webSocketImpl: CutOffAnyTime,
    retryAttempts: 0,
    ...options,
  });

export function follow(
  client: Client,
  query: string,
  variables: Record<string, unknown> = {},
): Followed {
  const payloads = client.iterate<Record<string, SubscriptionEvent>>({ query, variables });
  const next = async (): Promise<SubscriptionEvent> => {
    const { value, done } = await payloads.next();
    if (done === true) throw new Error("the subscription has ended");
    const [event] = Object.values(value.data ?? {});
    if (event === undefined || value.errors !== undefined) throw new Error(JSON.stringify(value));
    return event;
  };
  return {
    next,
    async until(isLast) {
      const events: SubscriptionEvent[] = [];
      for (;;) {
        const event = await next();
        events.push(event);
        if (isLast(event)) return events;
      }
    },
    end: async () => payloads.return?.(),
  };
}

/** The errors by which an operation is refused. */
export async function refusalOf(
  client: Client,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<readonly SubscriptionError[]> {
  try {
    await client.iterate({ query, variables }).next();
  } catch (error) {
    if (Array.isArray(error)) return error as SubscriptionError[];
    throw error;
  }
  throw new Error("the operation is not refused");
}
