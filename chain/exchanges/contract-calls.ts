// What contracts of several kinds are asked, and how their answers are read.
import { concatHex, getAddress, numberToHex, toFunctionSelector, type Hex } from "viem";
import type { Ask, ContractCall } from "../exchange-facts.ts";

/** The words that a function returns; undefined where it is another number of them. */
export function wordsOf(result: string, count: number): bigint[] | undefined {
  if (!new RegExp(`^0x[0-9a-fA-F]{${64 * count}}$`).test(result)) return undefined;
  return Array.from({ length: count }, (_, n) =>
    BigInt(`0x${result.slice(2 + 64 * n, 66 + 64 * n)}`),
  );
}

/** The data of a call with one integer. */
export const withInteger = (signature: string, n: number): Hex =>
  concatHex([toFunctionSelector(signature), numberToHex(n, { size: 32, signed: true })]);

/** A function that returns an address. */
const addressCall = (name: string): ContractCall<string> => ({
  name,
  data: toFunctionSelector(`function ${name}`),
  read: (result) =>
    /^0x0{24}[0-9a-fA-F]{40}$/.test(result) ? getAddress(`0x${result.slice(26)}`) : undefined,
});

/** Addresses of the two tokens of a pool. */
export type Tokens = readonly [string, string];

export const askTokens = async (ask: Ask): Promise<Tokens> => [
  await ask(addressCall("token0()")),
  await ask(addressCall("token1()")),
];

/** A function of which only matters whether it is there. */
export const presence = (
  name: string,
  data = toFunctionSelector(`function ${name}`),
): ContractCall<string> => ({ name, data, read: (result) => result });
