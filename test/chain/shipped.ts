// Contracts of other projects, as their packages ship them compiled.
import { readFile } from "node:fs/promises";
import type { Abi } from "viem";
import type { Compiled } from "./child.ts";

/** By the file in @uniswap, without its ending: `v2-core/build/UniswapV2Factory`. */
export async function shipped(path: string): Promise<Compiled> {
  const file = new URL(`hardhat/node_modules/@uniswap/${path}.json`, import.meta.url);
  const { abi, bytecode } = JSON.parse(await readFile(file, "utf8")) as {
    abi: Abi;
    bytecode: string;
  };
  return { abi, bytecode: `0x${bytecode.replace(/^0x/, "")}` };
}
