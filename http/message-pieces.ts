// Closes the connection of a request whose body comes in many small pieces: Node makes an object of each, which takes
// hundreds of times its bytes, and keeps it where the body is not read yet.
import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { answerOn, refuseConnection, stopParsing } from "./connections.ts";

/** As many as a message to a WebSocket has fragments. */
export const MAX_SMALL_PIECES = 128;

/** Larger ones are few, since a body is short. */
const SMALL_BYTES = 256;

const TOO_LARGE = 413;
const HEADERS = "Content-Type: text/plain; charset=utf-8\r\n";
const MESSAGE = `The body must not come in more than ${MAX_SMALL_PIECES} chunks of less than ${SMALL_BYTES} bytes\n`;

type Push = (this: IncomingMessage, piece: Buffer | null, encoding?: BufferEncoding) => boolean;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const pushOfNode = IncomingMessage.prototype.push as Push;

/** Counts each piece when it arrives, also of a request that waits, or whose body is not read. */
export class CountedMessage extends IncomingMessage {
  small = 0;

  constructor(socket: Socket) {
    super(socket);
    // An own property, because Express replaces the prototype.
    this.push = push;
  }
}

function push(this: CountedMessage, ...[piece, encoding]: Parameters<Push>): boolean {
  // The parser goes on to the end of what was read.
  if (this.small > MAX_SMALL_PIECES) return false;
  if (piece !== null && piece.length < SMALL_BYTES) this.small += 1;
  if (this.small <= MAX_SMALL_PIECES) return pushOfNode.call(this, piece, encoding);
  refuseBody(this);
  return false;
}

function refuseBody(message: IncomingMessage): void {
  const { socket } = message;
  stopParsing(socket);
  const answer = answerOn(socket);
  // No second answer can begin within the first, or before it.
  if (answer?.req !== message || answer.headersSent) socket.destroy();
  else refuseConnection(socket, TOO_LARGE, HEADERS, MESSAGE);
}
