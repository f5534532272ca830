// The two hashes of the chain that the data needs: an address's checksum, and a pair's hash.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";

/** Hashing is the dearest part of a row, and a history repeats the same addresses. */
const REMEMBERED = 20_000;

/** A function that keeps its latest answers, in bounded memory. */
export function remembering(compute: (input: string) => string): (input: string) => string {
  const answers = new Map<string, string>();
  return (input) => {
    const known = answers.get(input);
    if (known !== undefined) return known;
    if (answers.size >= REMEMBERED) answers.clear();
    const answer = compute(input);
    // A part of a file's text, when it is kept, keeps all of that text: so a copy is.
    answers.set(Buffer.from(input).toString(), answer);
    return answer;
  };
}

/** An address, `0x` and 40 hex digits in any case, with its EIP-55 checksum. */
export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  const checked = digits.replace(/[a-f]/g, (digit, at: number) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${checked}`;
}

const hashOfGems = remembering(
  (gems) => `0x${bytesToHex(keccak_256(hexToBytes(gems.replaceAll("0x", "").toLowerCase())))}`,
);

/** keccak256 of the lot token's address and the bid token's: the pair hash of that direction. */
export const pairHash = (lotGem: string, bidGem: string): string => hashOfGems(lotGem + bidGem);
