// Serialises requests, and finds the ends of their answers.

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

const END = Buffer.from("\r\n\r\n");
const IS_200 = Buffer.from("HTTP/1.1 200 ");
/** The part of `Content-Length: ` that has the same case in each server. */
const LENGTH = Buffer.from("ength: ");

/**
 * Finds the end of an answer without keeping it, and reads nothing else: parsing a head would take time that grows
 * with it and counts as the server's latency.
 */
export class AnswerMeter {
  /** Bytes of the body that are still missing. */
  #left = 0;
  #head: Buffer | undefined;

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
      throw new Error(`not 200: ${bytes.toString("utf8")}`);
    }
    this.#left = end + END.length + lengthIn(bytes, end) - bytes.length;
    return this.#isWhole();
  }

  #isWhole(): boolean {
    if (this.#left < 0) throw new Error("an answer is longer than its Content-Length");
    return this.#left === 0;
  }
}

/** The length of the body after the head that ends at `end`. */
function lengthIn(bytes: Buffer, end: number): number {
  const at = bytes.indexOf(LENGTH);
  // The benchmark requests no answers that a server would send in chunks.
  if (at < 0 || at > end) throw new Error(`an answer without Content-Length: ${bytes.toString()}`);
  return Number(bytes.toString("latin1", at + LENGTH.length, bytes.indexOf("\r", at)));
}
