// The kinds of tokens that a test can deploy, and how each describes itself.
import { stringToHex, type Hex } from "viem";

export interface TokenOptions {
  /** As ERC-20: any text, of any length and any characters. */
  string: { symbol?: string; name?: string; decimals?: number };
  /** As MKR: text of at most 32 bytes. */
  bytes32: { symbol?: string; name?: string; decimals?: bigint };
  /** Returns these bytes as they are. */
  raw: { symbol?: Hex; name?: Hex; decimals?: Hex };
  /** Reverts whatever it is asked. */
  silent: undefined;
  /** Uses up all gas whatever it is asked. */
  greedy: undefined;
}

export type TokenKind = keyof TokenOptions;

/** A `string` as a contract returns it: offset, length, bytes. */
export function encodedString(text: string): Hex {
  const bytes = stringToHex(text).slice(2);
  const word = (n: number): string => n.toString(16).padStart(64, "0");
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, "0");
  return `0x${word(32)}${word(bytes.length / 2)}${padded}`;
}

/** 2 ** 255, which no number of decimals is. */
export const HUGE_NUMBER: Hex = `0x8${"0".repeat(63)}`;

const bytes32 = (text: string): Hex => stringToHex(text, { size: 32 });

/** The contract of a kind, and the arguments of its constructor. */
export function deploymentOf<Kind extends TokenKind>(
  kind: Kind,
  options?: TokenOptions[Kind],
): { contract: string; args: readonly unknown[] };
export function deploymentOf(
  kind: TokenKind,
  options: TokenOptions["string"] & TokenOptions["bytes32"] & TokenOptions["raw"] = {},
): { contract: string; args: readonly unknown[] } {
  const { symbol = "TKN", name = "A token", decimals } = options as TokenOptions["string"];
  switch (kind) {
    case "string":
      return { contract: "Token", args: [symbol, name, decimals ?? 18] };
    case "bytes32":
      return { contract: "BytesToken", args: [bytes32(symbol), bytes32(name), decimals ?? 18n] };
    case "raw": {
      const raw: TokenOptions["raw"] = options;
      return {
        contract: "RawToken",
        args: [
          raw.symbol ?? encodedString("TKN"),
          raw.name ?? encodedString("A token"),
          raw.decimals ?? HUGE_NUMBER,
        ],
      };
    }
    case "silent":
      return { contract: "NoMetadata", args: [] };
    case "greedy":
      return { contract: "GreedyToken", args: [] };
  }
}
