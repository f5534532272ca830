// Blooms of logs: which logs a block may have, by its header.
import { keccak256, type Hex } from "viem";

const BITS = 2048;
const BYTES = BITS / 8;

/** A header's logsBloom. */
export class Bloom {
  readonly #bytes: Uint8Array;

  constructor(hex: string) {
    this.#bytes = Buffer.from(hex.slice(2), "hex");
  }

  /** Whether nothing is in it: the block has no logs, or the chain keeps no blooms. */
  get isEmpty(): boolean {
    return this.#bytes.every((byte) => byte === 0);
  }

  /** Whether this address or topic may be in it. */
  mayHave(item: string): boolean {
    return bitsOf(item).every((bit) => this.#has(bit));
  }

  /** Whether these addresses and topics are all that is in it. */
  isMadeOf(items: Iterable<string>): boolean {
    const made = new Uint8Array(BYTES);
    for (const item of items) {
      for (const bit of bitsOf(item)) {
        const [byte, mask] = placeOf(bit);
        made[byte] = (made[byte] ?? 0) | mask;
      }
    }
    return this.#bytes.every((byte, at) => (byte & ~(made[at] ?? 0)) === 0);
  }

  #has(bit: number): boolean {
    const [byte, mask] = placeOf(bit);
    return ((this.#bytes[byte] ?? 0) & mask) !== 0;
  }
}

/** The yellow paper's M3:2048: three numbers of 11 bits from the hash of an item. */
function bitsOf(item: string): number[] {
  const hash = Buffer.from(keccak256(item as Hex).slice(2), "hex");
  return [0, 2, 4].map((at) => hash.readUInt16BE(at) % BITS);
}

/** Bit 0 is the lowest of the last byte. */
const placeOf = (bit: number): [number, number] => [BYTES - 1 - (bit >> 3), 1 << (bit & 7)];
