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
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = bytes.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    // Servers of this benchmark are not asked for what they would have to send in chunks.
    if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`);
    this.#wanted = end + 4 + Number(length);
    if (bytes.length < this.#wanted) return undefined;
    const answer = {
      status: Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)),
      body: bytes.subarray(end + 4, this.#wanted),
    };
    this.#held = undefined;
    this.#wanted = 0;
    return answer;
  }
}
