// The recorded week of the Kovan test network, if it is beside the repository.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Recording, Row } from "./brute-force.ts";

export const KOVAN = join(process.cwd(), "../shared/data/kovan-2018-06");

/** `describe`, or without the recording `describe.skip` and a warning. */
export function describeKovan(name: string, tests: () => void): void {
  if (existsSync(join(KOVAN, "trades.csv"))) {
    describe(name, tests);
    return;
  }
  console.warn(`Skipped, because ${KOVAN} does not exist: ${name}`);
  describe.skip(name, tests);
}

/** The rows of the recording, with the header's names as keys. */
export function kovanRecording(): Recording {
  const read = (file: string): Row[] => {
    const [header = "", ...lines] = readFileSync(join(KOVAN, file), "utf8").trim().split(/\r?\n/);
    const names = header.split(",");
    return lines.map((line) => {
      const values = line.split(",");
      return Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));
    });
  };
  return {
    tokens: read("tokens.csv"),
    pairs: read("pairs.csv"),
    offers: read("offers.csv"),
    trades: read("trades.csv"),
  };
}
