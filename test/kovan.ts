// The recorded week of the Kovan test network, where it lies beside the repository.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Recording, Row } from "./brute-force.ts";

export const KOVAN = join(process.cwd(), "../shared/data/kovan-2018-06");

/** `describe`, or where the recording is absent `describe.skip`, with a word about it. */
export function describeKovan(name: string, tests: () => void): void {
  if (existsSync(join(KOVAN, "trades.csv"))) {
    describe(name, tests);
    return;
  }
  console.warn(`Skipped, since ${KOVAN} is not there: ${name}`);
  describe.skip(name, tests);
}

/** Its rows, each by the names of the header. */
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
