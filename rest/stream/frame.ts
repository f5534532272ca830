// One server-sent event, made once for all streams that get it.
import { constants, deflateRawSync } from "node:zlib";
import type { LiveEvent } from "../../market/live/events.ts";
import type { Change, Topic } from "../../market/live/topic.ts";
import { placeText, type Place } from "../../market/place.ts";

export class Frame {
  readonly bytes: Buffer;
  #deflated: Buffer | undefined;

  constructor(text: string) {
    this.bytes = Buffer.from(text);
  }

  /**
   * The bytes as a block of a deflate stream. It refers to no earlier block, so that streams that began at
   * different times share it.
   */
  get deflated(): Buffer {
    this.#deflated ??= deflateRawSync(this.bytes, { finishFlush: constants.Z_SYNC_FLUSH });
    return this.#deflated;
  }
}

type Reason = Extract<LiveEvent, { event: "reset" }>["reason"];

const REASONS: Record<Exclude<Reason, "cut">, string> = {
  changed: "the history or its labels have changed",
  "another history":
    "the id is of another history or later than the head, or the labels of trades have changed",
  unrecorded: "the reorganisations since are no longer recorded",
};

/** `candles` is how many a topic may have missed. */
export function frameOf(event: LiveEvent, candles: number): Frame {
  switch (event.event) {
    // Without an id: a client that is cut off before the state that follows must be reset again.
    case "reset": {
      const reason =
        event.reason === "cut"
          ? `more than ${candles - 1} candles of a topic are missing`
          : REASONS[event.reason];
      return new Frame(`event: reset\ndata: ${JSON.stringify({ reason })}\n\n`);
    }
    case "retract":
      return eventAt("retract", event.place, JSON.stringify(event.retraction));
    case "update": {
      const { block, time } = event.place;
      const head = time === null ? null : block;
      const topics = event.changes.map((each) => jsonOf(...each)).join(",");
      const more = event.more ? ',"more":true' : "";
      const moment = `"block":${JSON.stringify(head)},"time":${JSON.stringify(time)}${more}`;
      return eventAt("update", event.place, `{${moment},"topics":{${topics}}}`);
    }
  }
}

/** An event with its place; `data` is JSON. */
const eventAt = (event: string, place: Place, data: string): Frame =>
  new Frame(`event: ${event}\nid: ${placeText(place)}\ndata: ${data}\n\n`);

/** Streams of different topics share changes. */
const known = new WeakMap<Change, string>();

function jsonOf({ kind, name }: Topic, change: Change): string {
  const json = known.get(change) ?? `${JSON.stringify(name)}:${JSON.stringify(kind.data(change))}`;
  known.set(change, json);
  return json;
}
