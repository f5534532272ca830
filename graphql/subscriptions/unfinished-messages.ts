// Counts what a connection has sent of a message that has no end yet, and closes it where that is too much for its client,
// or for all.
import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** Each frame and each read of the socket takes some 200 bytes beside its own. */
const PIECE_BYTES = 200;

/** What ws keeps of a message until it is whole: it has no other name for it. */
interface Receiver {
  _bufferedBytes: number;
  _buffers: unknown[];
  _messageLength: number;
  _fragments: unknown[];
}

export interface UnfinishedOptions {
  socket: WebSocket;
  /** The connection below it. */
  raw: Socket;
  /** Counts bytes until they are given back; undefined where they are too many. */
  hold: (bytes: number) => (() => void) | undefined;
  onFull: () => void;
}

export function boundUnfinished({ socket, raw, hold, onFull }: UnfinishedOptions): void {
  const { _receiver: receiver } = socket as unknown as { _receiver: Receiver };
  let held = 0;
  let release = (): void => undefined;
  raw.once("close", () => release());
  // After the listener of ws, which takes the bytes.
  raw.on("data", () => {
    const { _bufferedBytes, _messageLength, _buffers, _fragments } = receiver;
    const pieces = _buffers.length + _fragments.length;
    const bytes = _bufferedBytes + _messageLength + pieces * PIECE_BYTES;
    if (bytes === held) return;
    release();
    const released = bytes === 0 ? () => undefined : hold(bytes);
    held = released === undefined ? 0 : bytes;
    release = released ?? (() => undefined);
    if (released !== undefined) return;
    onFull();
    // The client may go on sending while it is to close.
    raw.destroySoon();
  });
}
