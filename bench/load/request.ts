// Serialises requests, and parses answers from a connection.

export interface BenchRequest {
  method: "GET" | "POST";
  /** Including the query string. */
  path: string;
  /** JSON, for POST. */
  body?: string;
}

/** The request as bytes. */
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

/** Collects the data of a connection; `add` returns an answer when it is complete. */
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
 * Finds the end of an answer without keeping it. It parses the head only if the line with the length has
 * changed: parsing each head would take time that grows with the server's headers and counts as its latency.
 */
export class AnswerMeter {
  /** Bytes of the body that are still missing. */
  #left = 0;
  #head: Buffer | undefined;
  #lastLength: LengthLine | undefined;

  /** Takes the first `length` bytes; true if they complete an answer. Throws if its status is not 200. */
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

  /** The length of the body after the head that ends at `end`. */
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

/** The status and body length of a head that ends at `end`. */
function readHead(bytes: Buffer, end: number): { status: number; length: number } {
  return {
    status: Number(bytes.toString("latin1", "HTTP/1.1 ".length, "HTTP/1.1 200".length)),
    length: lengthLine(bytes, end).length,
  };
}

/** The Content-Length line of a head, including the line ends around it. */
interface LengthLine {
  at: number;
  line: Buffer;
  length: number;
}

function lengthLine(bytes: Buffer, end: number): LengthLine {
  const head = bytes.toString("latin1", 0, end + "\r\n".length);
  const found = /\r\ncontent-length: *(\d+)\r\n/i.exec(head);
  // The benchmark requests no answers that a server would send in chunks.
  if (found === null) throw new Error(`an answer without Content-Length: ${head}`);
  return { at: found.index, line: Buffer.from(found[0], "latin1"), length: Number(found[1]) };
}

/** Whether the head that ends at `end` has the same line at the same position. */
function isAt({ at, line }: LengthLine, bytes: Buffer, end: number): boolean {
  const lineEnd = at + line.length;
  return lineEnd <= end + "\r\n".length && bytes.compare(line, 0, line.length, at, lineEnd) === 0;
}
