// The transports of live data.
import type { Transport } from "./live-client.ts";
import { eventStream } from "./stream-transport.ts";
import { subscriptions } from "./subscription-transport.ts";

export const TRANSPORTS: readonly Transport[] = [eventStream, subscriptions];
