// The recorded week of the Kovan test network, if it is beside the repository.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readFolder } from "../db/load/folder.ts";
import type { LoadSource } from "../db/load/write-rows.ts";
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

/** The blocks with rows, in order, each with its time. */
export function kovanBlocks({ trades, offers }: Recording): { block: number; time: number }[] {
  const times = new Map<number, number | undefined>();
  for (const { killed } of offers) {
    if (killed !== "0") times.set(Number(killed), undefined);
  }
  for (const { block, time } of [...trades, ...offers]) times.set(Number(block), Date.parse(time!));
  // A cancellation has no time in the files: its block gets the time of the previous block.
  let last = 0;
  return [...times]
    .sort(([one], [other]) => one - other)
    .map(([block, time]) => ({ block, time: (last = time ?? last) }));
}

/** The files as of a block, to load. */
export async function kovanFiles(): Promise<(last: number) => LoadSource> {
  const folder = await readFolder(KOVAN);
  const files = {
    tokens: await Array.fromAsync(folder.tokens ?? []),
    pairs: await Array.fromAsync(folder.pairs ?? []),
    offers: await Array.fromAsync(folder.offers ?? []),
    trades: await Array.fromAsync(folder.trades ?? []),
  };
  return (last) => ({
    ...files,
    trades: files.trades.filter(({ block }) => block <= last),
    offers: files.offers
      .filter(({ block }) => block <= last)
      .map((offer) => ({ ...offer, killed: (offer.killed ?? 0) > last ? 0 : offer.killed })),
  });
}
