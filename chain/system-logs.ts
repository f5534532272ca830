// Logs that a chain adds to a block beside those of its transactions, and that the header's bloom leaves out.
import { concatHex, keccak256, numberToHex, stringToHex, type Hex } from "viem";

/** Polygon PoS and its test network: what comes from Ethereum by state sync is the last transaction of a block. */
const POLYGON: readonly number[] = [137, 80_002];

/** The hash of the transaction whose logs may be missing in the bloom; undefined where the chain has none. */
export function systemTransaction(
  chainId: number | undefined,
  { number, hash }: { number: number; hash: string },
): string | undefined {
  if (chainId === undefined || !POLYGON.includes(chainId)) return undefined;
  const key = [stringToHex("matic-bor-receipt-"), numberToHex(number, { size: 8 }), hash as Hex];
  return keccak256(concatHex(key));
}
