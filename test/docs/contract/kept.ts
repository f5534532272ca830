// The contract of each release, in docs/releases/: what later versions are compared with.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { release } from "../../../http/release.ts";

const FOLDER = fileURLToPath(new URL("../../../docs/releases", import.meta.url));
const SDL = "schema.graphql";

export interface Contract {
  sdl: string;
  /** By the name of their file. */
  lines: Record<string, string[]>;
}

const asNumber = (name: string): number =>
  name.split(".").reduce((all, part) => 1000 * all + Number(part), 0);

/** A release changes the last of its three numbers where the contract is the same. */
export const folderOf = (version: string): string => version.split(".").slice(0, 2).join(".");

export const releases = (): string[] =>
  readdirSync(FOLDER).sort((one, other) => asNumber(one) - asNumber(other));

export function readContract(name: string): Contract {
  const read = (file: string): string => readFileSync(join(FOLDER, name, file), "utf8");
  const files = readdirSync(join(FOLDER, name)).filter((file) => file.endsWith(".txt"));
  return {
    sdl: read(SDL),
    lines: Object.fromEntries(
      files.map((file) => [file.replace(".txt", ""), read(file).trimEnd().split("\n")]),
    ),
  };
}

/** Writes that of the version that is checked out. What is released stays as it is. */
export function writeContract({ sdl, lines }: Contract, changelog: string): void {
  const version = release();
  const name = folderOf(version);
  const released = [...changelog.matchAll(/^## (\d+\.\d+)/gm)].map(([, number]) => number);
  if (released.includes(name)) {
    throw new Error(`${name} is released: give package.json the next version before`);
  }
  mkdirSync(join(FOLDER, name), { recursive: true });
  writeFileSync(join(FOLDER, name, SDL), sdl);
  for (const [file, all] of Object.entries(lines)) {
    writeFileSync(join(FOLDER, name, `${file}.txt`), `${all.join("\n")}\n`);
  }
}
