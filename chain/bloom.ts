// Blooms of logs: which logs a block may have, by its header.
import { keccak256, type Hex } from "viem";

const BITS = 2048;
const BYTES = BITS / 8;

export class Bloom {
  readonly #bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A header's logsBloom. */
  static read(hex: string): Bloom {
    return new Bloom(Buffer.from(hex.slice(2), "hex"));
  }

  /** That of a block whose logs have these addresses and topics. */
  static of(items: Iterable<string>): Bloom {
    const bytes = new Uint8Array(BYTES);
    for (const item of items) {
      for (const bit of bitsOf(item)) {
        // Bit 0 is the lowest of the last byte.
        const byte = BYTES - 1 - (bit >> 3);
        bytes[byte] = (bytes[byte] ?? 0) | (1 << (bit & 7));
      }
    }
    return new Bloom(bytes);
  }

  /** Whether nothing is in it: the block has no logs, or the chain keeps no blooms. */
  get isEmpty(): boolean {
    return this.#bytes.every((byte) => byte === 0);
  }

  /** Whether all that is in the other one may be in it. */
  covers(other: Bloom): boolean {
    return this.#bytes.every((byte, at) => ((other.#bytes[at] ?? 0) & ~byte) === 0);
  }
}

/** The yellow paper's M3:2048: three numbers of 11 bits from the hash of an item. */
function bitsOf(item: string): number[] {
  const hash = Buffer.from(keccak256(item as Hex).slice(2), "hex");
  return [0, 2, 4].map((at) => hash.readUInt16BE(at) % BITS);
}
