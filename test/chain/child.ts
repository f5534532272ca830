// Starts the programs of test/chain/hardhat/ as processes.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Abi, Hex } from "viem";

const pathOf = (file: string): string => fileURLToPath(new URL(`hardhat/${file}`, import.meta.url));

export interface Compiled {
  abi: Abi;
  bytecode: Hex;
}

export type Contracts = Record<string, Compiled>;

let compiled: Promise<Contracts> | undefined;

/** The contracts of test/chain/contracts/, compiled once for all files and runs, until one of them changes. */
export function compile(): Promise<Contracts> {
  compiled ??= cached();
  return compiled;
}

async function cached(): Promise<Contracts> {
  const folder = pathOf("../contracts/");
  const names = (await readdir(folder)).sort().map((name) => join(folder, name));
  const hash = createHash("sha256");
  for (const path of [...names, pathOf("compile.js"), pathOf("package-lock.json")]) {
    hash.update(await readFile(path));
  }
  const file = pathOf(`node_modules/.contracts-${hash.digest("hex")}.json`);
  const found = await readFile(file, "utf8").catch(() => undefined);
  if (found !== undefined) return JSON.parse(found) as Contracts;
  const contracts = await runCompiler();
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify(contracts));
  await rename(draft, file);
  return contracts;
}

async function runCompiler(): Promise<Contracts> {
  const child = spawn(process.execPath, [pathOf("compile.js")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code !== 0) throw new Error(`the contracts do not compile: ${errors}`);
  return JSON.parse(output) as Contracts;
}

export interface NodeProcess {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a chain, on a free port unless one is given. `start` is the time of its first block, else the present. */
export async function startNode(start?: Date, port = 0): Promise<NodeProcess> {
  const child = spawn(process.execPath, [pathOf("node.js")], {
    env: {
      ...process.env,
      CHAIN_PORT: String(port),
      ...(start && { CHAIN_START: start.toISOString() }),
    },
    // The chain ends with its stdin, also when this process is killed.
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    const look = (text: string): void => {
      output += text;
      const found = /LISTENS (\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.setEncoding("utf8").on("data", look);
    child.stderr.setEncoding("utf8").on("data", look);
    child.once("error", reject);
    void ended.then(() => reject(new Error(`the chain ended before it listened: ${output}`)));
  });
  return {
    url,
    pid: child.pid!,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
