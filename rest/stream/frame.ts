// One server-sent event, made once for all streams that get it.
import { constants, deflateRawSync } from "node:zlib";
import { placeText, type Place } from "../../server/http/live/place.ts";

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

/** An event with its place; `data` is JSON. */
export const eventAt = (event: string, place: Place, data: string): Frame =>
  new Frame(`event: ${event}\nid: ${placeText(place)}\ndata: ${data}\n\n`);
