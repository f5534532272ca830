// What was found out about GraphQL requests before, in bounded memory: under which key one was filed.
import { crc32 } from "node:zlib";
import { ownBytes } from "./own-bytes.ts";

/** What decides which answer a request gets, as the client wrote it. */
export interface Written {
  body: Buffer;
  /** `Accept`, if there is one. */
  accept: string | undefined;
  /** `Accept-Encoding`, if there is one. */
  encoding: string | undefined;
}

interface Known extends Written {
  key: string;
  bytes: number;
}

/** What a request and its key take beside their letters, by measurement roughly. */
const OVERHEAD_BYTES = 512;

/** So many with one checksum are told apart: whoever makes more of them drives out their own. */
const MOST_ALIKE = 8;

/**
 * Keys by requests. It has two halves: what is asked for moves into the younger, and once that is full,
 * the older, with all that nobody has asked for since, goes.
 *
 * They are found by the checksum of the body, and told apart by its bytes. To make a text of it and look
 * that up took a twentieth of the time of an answer from memory.
 */
export class KnownKeys {
  readonly #halfBytes: number;
  #younger = new Map<number, Known[]>();
  #older = new Map<number, Known[]>();
  /** What the younger half takes. */
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#halfBytes = maxBytes / 2;
  }

  get(written: Written): string | undefined {
    const sum = crc32(written.body);
    const known = findAmong(this.#younger.get(sum), written);
    if (known !== undefined) return known.key;
    const older = findAmong(this.#older.get(sum), written);
    if (older !== undefined) this.#add(sum, older);
    return older?.key;
  }

  /** Keeps the key of a request that has none yet, unless that takes more than half of the memory. */
  keep({ body, accept, encoding }: Written, key: string): void {
    // Two bytes a letter at most.
    const letters = key.length + (accept?.length ?? 0) + (encoding?.length ?? 0);
    const bytes = OVERHEAD_BYTES + body.length + 2 * letters;
    if (bytes > this.#halfBytes) return;
    this.#add(crc32(body), { body: ownBytes(body), accept, encoding, key, bytes });
  }

  #add(sum: number, known: Known): void {
    if (this.#bytes + known.bytes > this.#halfBytes) {
      this.#older = this.#younger;
      this.#younger = new Map();
      this.#bytes = 0;
    }
    const alike = this.#younger.get(sum) ?? [];
    if (alike.length === 0) this.#younger.set(sum, alike);
    if (alike.length === MOST_ALIKE) this.#bytes -= alike.shift()?.bytes ?? 0;
    alike.push(known);
    this.#bytes += known.bytes;
  }
}

function findAmong(alike: Known[] | undefined, written: Written): Known | undefined {
  return alike?.find(
    (known) =>
      known.accept === written.accept &&
      known.encoding === written.encoding &&
      known.body.equals(written.body),
  );
}
