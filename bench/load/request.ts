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

/** Finds where an answer ends, and keeps nothing of it: for those who only wait for that. */
export class AnswerMeter {
  /** How many bytes of the answer are still to come, once its head is read. */
  #left = 0;
  #head: Buffer | undefined;

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
    const head = readHead(bytes, end);
    if (head.status !== 200) throw new Error(`status ${head.status}: ${bytes.toString("utf8")}`);
    this.#left = end + END.length + head.length - bytes.length;
    return this.#isWhole();
  }

  #isWhole(): boolean {
    if (this.#left < 0) throw new Error("an answer is longer than its Content-Length");
    return this.#left === 0;
  }
}

const END = "\r\n\r\n";

/** The status and the length of the body, from a head that ends there. */
function readHead(bytes: Buffer, end: number): { status: number; length: number } {
  const head = bytes.toString("latin1", 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  // Servers of this benchmark are not asked for what they would have to send in chunks.
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`);
  return {
    status: Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)),
    length: Number(length),
  };
}
