// The bloom filter of a block's logs, as Ethereum's header has it.
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Hex } from "viem";

const BYTES = 256;

/** Addresses and event topics come in almost every block. */
const bitsOf = new Map<string, readonly number[]>();
const MAX_KEPT = 100_000;

function bits(value: string): readonly number[] {
  const kept = bitsOf.get(value);
  if (kept !== undefined) return kept;
  const hash = keccak_256(Buffer.from(value.slice(2), "hex"));
  const found = [0, 2, 4].map((n) => (((hash[n] ?? 0) << 8) | (hash[n + 1] ?? 0)) & 2047);
  if (bitsOf.size >= MAX_KEPT) bitsOf.clear();
  bitsOf.set(value, found);
  return found;
}

/** The bloom of logs with these addresses and topics. */
export function bloomOf(logs: Iterable<{ address: string; topics: readonly string[] }>): Hex {
  const bloom = Buffer.alloc(BYTES);
  for (const { address, topics } of logs) {
    for (const value of [address, ...topics]) {
      for (const bit of bits(value)) {
        const byte = BYTES - 1 - (bit >> 3);
        bloom[byte] = (bloom[byte] ?? 0) | (1 << (bit & 7));
      }
    }
  }
  return `0x${bloom.toString("hex")}`;
}
