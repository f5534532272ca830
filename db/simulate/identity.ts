// Addresses and hashes of the simulated chain, each made of what it names: the same every time.
import { createHash } from "node:crypto";
import { checksumAddress } from "../load/checksum.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The address that belongs to a name, with EIP-55 checksum. */
export const addressOf = (name: string): string =>
  checksumAddress(`0x${sha256(`simulated ${name}`).slice(0, 40)}`);

/** The hash of the so-manieth transaction of a block. */
export const transactionHash = (seed: number, block: number, place: number): string =>
  `0x${sha256(`${seed}/${block}/${place}`)}`;
