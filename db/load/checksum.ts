// Computes EIP-55 address checksums and pair hashes.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";

const CACHE_ENTRIES = 20_000;

/**
 * Caches a function's results in bounded memory. Hashing is the most expensive part of reading a row,
 * and a history repeats the same addresses.
 */
export function remembering(compute: (input: string) => string): (input: string) => string {
  const cache = new Map<string, string>();
  return (input) => {
    const cached = cache.get(input);
    if (cached !== undefined) return cached;
    if (cache.size >= CACHE_ENTRIES) cache.clear();
    const result = compute(input);
    // Copy the key: a substring would keep the whole file chunk in memory.
    cache.set(Buffer.from(input).toString(), result);
    return result;
  };
}

/** Adds the EIP-55 checksum to an address: `0x` and 40 hex digits in any letter case. */
export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  const checked = digits.replace(/[a-f]/g, (digit, at: number) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${checked}`;
}

/** In each letter case in which the address may be recorded: writers may leave its checksum out. */
export const spellingsOf = (address: string): string[] => [
  ...new Set([checksumAddress(address), address, address.toLowerCase()]),
];

const hashOfGems = remembering(
  (gems) => `0x${bytesToHex(keccak_256(hexToBytes(gems.replaceAll("0x", "").toLowerCase())))}`,
);

/** Pair hash of one direction: keccak256 of the lot token's address and the bid token's. */
export const pairHash = (lotGem: string, bidGem: string): string => hashOfGems(lotGem + bidGem);
