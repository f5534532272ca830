// A request as it goes over the wire, and whole answers read back from the wire.

export interface BenchRequest {
  method: "GET" | "POST";
  /** With the query string. */
  path: string;
  /** JSON, of a POST. */
  body?: string;
}

/** The bytes of the request, the same each time. */
export function wireBytes({ method, path, body }: BenchRequest): Buffer {
  const headers = [`${method} ${path} HTTP/1.1`, "Host: bench", "Accept: application/json"];
  if (body !== undefined) {
    headers.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return Buffer.from(`${headers.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

export interface Answer {
  status: number;
  body: Buffer;
}

/** Collects what comes over one connection into answers: `add` gives one back once it is whole. */
export class AnswerReader {
  #held: Buffer | undefined;
  #wanted = 0;

  add(piece: Buffer): Answer | undefined {
    const bytes = this.#held === undefined ? piece : Buffer.concat([this.#held, piece]);
    this.#held = bytes;
    if (bytes.length < this.#wanted) return undefined;
    const end = bytes.indexOf(END);
    if (end < 0) return undefined;
    const { status, length } = readHead(bytes, end);
    this.#wanted = end + END.length + length;
    if (bytes.length < this.#wanted) return undefined;
    const answer = { status, body: bytes.subarray(end + END.length, this.#wanted) };
    this.#held = undefined;
    this.#wanted = 0;
    return answer;
  }
}

/**
 * Finds where an answer ends, and keeps nothing of it: for those who only wait for that. The head is read
 * as text where it tells a length otherwise than the last: to read each would take longer the more
 * headers a server sends, and be counted as its time.
 */
export class AnswerMeter {
  /** How many bytes of the answer are still to come, once its head is read. */
  #left = 0;
  #head: Buffer | undefined;
  #lastLength: LengthLine | undefined;

  /** Takes the first `length` bytes; true where they end an answer. Throws where it is not 200. */
  add(buffer: Buffer, length: number): boolean {
    if (this.#left > 0) {
      this.#left -= length;
      return this.#isWhole();
    }
    const piece = buffer.subarray(0, length);
    const bytes = this.#head === undefined ? piece : Buffer.concat([this.#head, piece]);
    const end = bytes.indexOf(END);
    if (end < 0) {
      this.#head = Buffer.from(bytes);
      return false;
    }
    this.#head = undefined;
    if (bytes.compare(IS_200, 0, IS_200.length, 0, IS_200.length) !== 0) {
      throw new Error(`status ${readHead(bytes, end).status}: ${bytes.toString("utf8")}`);
    }
    this.#left = end + END.length + this.#lengthIn(bytes, end) - bytes.length;
    return this.#isWhole();
  }

  /** How long the body is that begins after the head, which ends there. */
  #lengthIn(bytes: Buffer, end: number): number {
    const last = this.#lastLength;
    if (last !== undefined && isAt(last, bytes, end)) return last.length;
    this.#lastLength = lengthLine(bytes, end);
    return this.#lastLength.length;
  }

  #isWhole(): boolean {
    if (this.#left < 0) throw new Error("an answer is longer than its Content-Length");
    return this.#left === 0;
  }
}

const END = Buffer.from("\r\n\r\n");
const IS_200 = Buffer.from("HTTP/1.1 200 ");

/** The status and the length of the body, from a head that ends there. */
function readHead(bytes: Buffer, end: number): { status: number; length: number } {
  return {
    status: Number(bytes.toString("latin1", "HTTP/1.1 ".length, "HTTP/1.1 200".length)),
    length: lengthLine(bytes, end).length,
  };
}

/** The line of a head that tells the length of the body, with the ends of lines around it. */
interface LengthLine {
  at: number;
  line: Buffer;
  length: number;
}

function lengthLine(bytes: Buffer, end: number): LengthLine {
  const head = bytes.toString("latin1", 0, end + "\r\n".length);
  const found = /\r\ncontent-length: *(\d+)\r\n/i.exec(head);
  // Servers of this benchmark are not asked for what they would have to send in chunks.
  if (found === null) throw new Error(`an answer without Content-Length: ${head}`);
  return { at: found.index, line: Buffer.from(found[0], "latin1"), length: Number(found[1]) };
}

/** Whether the head that ends there has the same line at the same place. */
function isAt({ at, line }: LengthLine, bytes: Buffer, end: number): boolean {
  const lineEnd = at + line.length;
  return lineEnd <= end + "\r\n".length && bytes.compare(line, 0, line.length, at, lineEnd) === 0;
}
