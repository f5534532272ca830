// What is sent of a request's body: how many pieces, and how much behind the answer.
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

/** What Node calls where an answer is out and its request's body was not read: it drops the rest of that, without an end. */
interface Dumped {
  readonly _dump: (this: IncomingMessage) => void;
  _dumped: boolean;
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const pushOfNode = IncomingMessage.prototype.push as Push;

const dumpOfNode = (IncomingMessage.prototype as unknown as Dumped)._dump;

/**
 * Closes the connection of a request whose body comes in many small pieces: Node makes an object of each, which takes
 * hundreds of times its bytes. Counts each piece when it arrives, also of a request that waits, or whose body is not read.
 * Closes it also where more of a body than one may have comes behind the answer, which would take the event loop.
 */
export class CountedMessage extends IncomingMessage {
  small = 0;
  /** How many bytes may come behind the answer: of a client that is refused before it has sent them. */
  left: number;
  isAnswered = false;

  constructor(socket: Socket, bodyBytes = Infinity) {
    super(socket);
    this.left = bodyBytes;
    // Own properties, because Express replaces the prototype.
    this.push = push;
    (this as { _dump?: unknown })._dump = dump;
  }
}

/** Of a server that takes no body above `bodyBytes`. */
export const countedMessages = (bodyBytes: number): typeof CountedMessage =>
  class extends CountedMessage {
    constructor(socket: Socket) {
      super(socket, bodyBytes);
    }
  };

function dump(this: CountedMessage): void {
  dumpOfNode.call(this);
  if (this.complete) return;
  this.isAnswered = true;
  // Else Node hands on no piece.
  (this as unknown as Dumped)._dumped = false;
}

function push(this: CountedMessage, ...[piece, encoding]: Parameters<Push>): boolean {
  // The parser goes on to the end of what was read.
  if (this.small > MAX_SMALL_PIECES || this.left < 0) return false;
  if (piece !== null && piece.length < SMALL_BYTES) this.small += 1;
  if (piece !== null && this.isAnswered) this.left -= piece.length;
  if (this.small > MAX_SMALL_PIECES || this.left < 0) {
    refuseBody(this);
    return false;
  }
  // No handler will read it.
  if (piece !== null && this.isAnswered) return true;
  return pushOfNode.call(this, piece, encoding);
}

function refuseBody(message: IncomingMessage): void {
  const { socket } = message;
  stopParsing(socket);
  const answer = answerOn(socket);
  // No second answer can begin within the first, or before it.
  if (answer?.req !== message || answer.headersSent) socket.destroy();
  else refuseConnection(socket, TOO_LARGE, HEADERS, MESSAGE);
}
