// Finished answers, in bounded memory: those that nobody has asked for of late make room.
import type { OutgoingHttpHeader } from "node:http";
import type { Observation } from "../observe/observation.ts";
import { ownBytes } from "./own-bytes.ts";

/** A finished HTTP answer. */
export interface Answer {
  status: number;
  /** Name, value, name, value: as they were given, and as `writeHead` takes them. */
  headers: OutgoingHttpHeader[];
  /** As a string it has a character a byte: Node sends a short one so with its head as one piece. */
  body: Buffer | string;
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
  /** Whether it was asked for since it was last passed over. */
  isAsked: boolean;
}

/** What an entry takes beside its texts and its body, by measurement roughly. */
const OVERHEAD_BYTES = 1024;

/** No answer takes more than this share of the memory. */
const LARGEST_SHARE = 1 / 8;

export class AnswerStore {
  readonly #maxBytes: number;
  // To put an entry last each time it is asked for would cost more than to find it. So it is only
  // marked, and put last once when its turn to make room comes: what is asked for again stays.
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes all that is kept takes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many are kept. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): KeptAnswer | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.isAsked = true;
    return entry;
  }

  /** Keeps an answer, unless it is too large to be worth the others that it would displace. */
  keep(key: string, { answer, until }: KeptAnswer): void {
    const bytes = sizeOf(key, answer);
    if (bytes > this.#maxBytes * LARGEST_SHARE) return;
    this.#remove(key);
    this.#makeRoom(bytes);
    const { body } = answer;
    const kept = { ...answer, body: typeof body === "string" ? body : ownBytes(body) };
    this.#entries.set(key, { answer: kept, until, bytes, isAsked: false });
    this.#bytes += bytes;
  }

  #makeRoom(bytes: number): void {
    // What is put last is met again, and then without its mark: this comes to an end.
    for (const [key, entry] of this.#entries) {
      if (this.#bytes + bytes <= this.#maxBytes) return;
      if (!entry.isAsked) {
        this.#remove(key);
        continue;
      }
      entry.isAsked = false;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
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
