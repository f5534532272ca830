// Finished answers, in bounded memory: the ones that nobody asked for longest make room.
import type { OutgoingHttpHeader } from "node:http";
import type { Observation } from "../observe/observation.ts";

/** A finished HTTP answer. */
export interface Answer {
  status: number;
  /** Name, value, name, value: as they were given, and as `writeHead` takes them. */
  headers: OutgoingHttpHeader[];
  body: Buffer;
  etag: string | undefined;
  /** The request that it was made for, where requests are observed. */
  madeFor?: Observation | undefined;
}

export interface KeptAnswer {
  answer: Answer;
  /** The moment from which it is not given any more, on the clock of whoever keeps it. */
  until: number;
}

interface Entry extends KeptAnswer {
  bytes: number;
}

/** What an entry takes beside its texts and its body, by measurement roughly. */
const OVERHEAD_BYTES = 1024;

/** No answer takes more than this share of the memory. */
const LARGEST_SHARE = 1 / 8;

export class AnswerStore {
  readonly #maxBytes: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes all that is kept takes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): KeptAnswer | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Keeps an answer, unless it is too large to be worth the others that it would displace. */
  keep(key: string, { answer, until }: KeptAnswer): void {
    const bytes = sizeOf(key, answer);
    if (bytes > this.#maxBytes * LARGEST_SHARE) return;
    this.#remove(key);
    // A small buffer may be a piece of a larger one, which would be kept with it.
    const body = Buffer.allocUnsafeSlow(answer.body.length);
    answer.body.copy(body);
    this.#entries.set(key, { answer: { ...answer, body }, until, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

function sizeOf(key: string, { headers, body }: Answer): number {
  // Two bytes a character at most.
  return OVERHEAD_BYTES + body.length + 2 * (key.length + headers.join("").length);
}
