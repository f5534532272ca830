// Follows an event stream as a client does, and checks each event against the OpenAPI document's schemas.
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { streamEvents } from "../rest/stream/event-schemas.ts";

export interface Received {
  event: string;
  id?: string;
  data: {
    block: number | null;
    time: string | null;
    /** Records or lists of them. */
    topics: Record<string, object[]>;
    /** Of a page that others follow. */
    more?: true;
    /** Of a retraction. */
    trade?: number;
    reason?: string;
  };
}

export interface StreamClient {
  status: number;
  headers: Headers;
  /** The next event; undefined when the stream has ended. */
  next: () => Promise<Received | undefined>;
  /** All events until the one that `isLast` accepts. */
  until: (isLast: (event: Received) => boolean) => Promise<Received[]>;
  close: () => void;
}

/** Opens a stream; without an answer of status 200 it has no events. */
export async function followStream(
  url: string,
  headers: Record<string, string> = {},
  gone = new AbortController(),
): Promise<StreamClient> {
  const response = await fetch(url, { headers, signal: gone.signal });
  const events = read(response);
  const next = async (): Promise<Received | undefined> => (await events.next()).value;
  return {
    status: response.status,
    headers: response.headers,
    next,
    async until(isLast) {
      const received: Received[] = [];
      for (;;) {
        const event = await next();
        if (event === undefined) throw new Error(`ended after ${JSON.stringify(received)}`);
        received.push(event);
        if (isLast(event)) return received;
      }
    },
    close: () => gone.abort(),
  };
}

async function* read({ body }: Response): AsyncGenerator<Received, undefined> {
  if (body === null) return undefined;
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      yield* parts.map(eventOf).filter((event) => event !== undefined);
    }
  } catch (error) {
    if ((error as Error).name !== "AbortError" && (error as Error).message !== "terminated")
      throw error;
  }
  return undefined;
}

/** Undefined for a comment or a block without data. */
function eventOf(block: string): Received | undefined {
  const fields = new Map(
    block.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const event: unknown = {
    event: fields.get("event") ?? "message",
    ...(fields.has("id") && { id: fields.get("id") }),
    data: JSON.parse(data),
  };
  // A key that the schema lacks would be missing.
  if (!isDeepStrictEqual(z.union(streamEvents).parse(event), event)) {
    throw new Error(`not as the schema has it: ${data}`);
  }
  return event as Received;
}
