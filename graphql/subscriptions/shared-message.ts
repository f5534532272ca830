// A message "next" of graphql-ws that many clients get: its payload is made once, and each client's id is put before it.

const FINAL_TEXT = 0x81;
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const MAX_IN_1_BYTE = 125;
const MAX_IN_2_BYTES = 0xffff;

/** The header of a frame has up to so many bytes. */
const HEADER_BYTES = 10;

export class SharedMessage {
  /** What follows the id: the payload and the end. */
  readonly rest: Buffer;

  /** `payload` is JSON. */
  constructor(payload: string) {
    this.rest = Buffer.from(`,"type":"next","payload":${payload}}`);
  }

  /** The header of the frame, and the message up to the id. */
  beginningFor(id: string): Buffer {
    const text = `{"id":${JSON.stringify(id)}`;
    const bytes = Buffer.byteLength(text);
    const buffer = Buffer.allocUnsafe(HEADER_BYTES + bytes);
    const start = writeHeader(buffer, bytes + this.rest.length);
    buffer.write(text, start);
    return buffer.subarray(0, start + bytes);
  }
}

/** RFC 6455, 5.2: one frame without a mask. Returns the length of the header. */
function writeHeader(buffer: Buffer, length: number): number {
  buffer[0] = FINAL_TEXT;
  if (length <= MAX_IN_1_BYTE) return buffer.writeUInt8(length, 1);
  if (length <= MAX_IN_2_BYTES) {
    buffer[1] = LENGTH_IN_2_BYTES;
    return buffer.writeUInt16BE(length, 2);
  }
  buffer[1] = LENGTH_IN_8_BYTES;
  return buffer.writeBigUInt64BE(BigInt(length), 2);
}
