// The days of a manifest that have blocks, with the file of each kind of facts.
import { dayAfter } from "./days.ts";
import { BadManifest, type Contents, type ListedDay, type ListedFile } from "./manifest.ts";

/** In the order in which they are read. */
export const FACT_KINDS = ["blocks", "offers", "trades", "ends", "pools"] as const;
export type FactKind = (typeof FACT_KINDS)[number];

export interface PlannedDay {
  day: string;
  firstBlock: number;
  lastBlock: number;
  digest: string;
  files: Record<FactKind, ListedFile>;
  /** What is registered, as files named by their bytes. */
  registries: Record<"tokens" | "markets", ListedFile>;
}

/** Throws BadManifest for a manifest whose parts contradict each other. */
export function plannedDays({ basis, days }: Contents): PlannedDay[] {
  const planned: PlannedDay[] = [];
  let before: ListedDay | undefined;
  for (const day of days) {
    const last = planned.at(-1);
    const refuse = (problem: string): never => {
      throw new BadManifest(`the manifest contradicts itself: ${day.day} ${problem}`);
    };
    if (before !== undefined && day.day !== dayAfter(before.day)) refuse(`follows ${before.day}`);
    before = day;
    if (day.firstBlock === null || day.lastBlock === null) {
      if (day.files.length > 0 || last === undefined) refuse("has no block with rows");
      if (day.digest !== last?.digest) refuse("has no block with rows, and another digest");
      continue;
    }
    const { firstBlock, lastBlock } = day;
    if (firstBlock > lastBlock || firstBlock <= (last?.lastBlock ?? -1)) {
      refuse(`has the blocks ${firstBlock} to ${lastBlock}`);
    }
    if (last === undefined && firstBlock !== basis.firstBlock) {
      refuse(`begins with block ${firstBlock}, and the basis with ${basis.firstBlock}`);
    }
    planned.push(plannedDay({ ...day, firstBlock, lastBlock }));
  }
  return planned;
}

export function plannedDay({
  files,
  ...listed
}: ListedDay & { firstBlock: number; lastBlock: number }): PlannedDay {
  const { day } = listed;
  const of = (kind: string, isRight: (name: string) => boolean): ListedFile => {
    const found = files.filter((file) => file.kind === kind && isRight(file.name));
    const [file] = found;
    if (file !== undefined && found.length === 1) return file;
    throw new BadManifest(
      `the manifest lists ${found.length} files of ${kind} for ${day}, not one`,
    );
  };
  const csv = (kind: string): ListedFile => of(kind, (name) => name === `${kind}-${day}.csv.gz`);
  const registry = (kind: string): ListedFile =>
    of(kind, (name) => name === `${kind}-${name.slice(-20, -4)}.csv`);
  return {
    ...listed,
    files: {
      ...{ blocks: csv("blocks"), offers: csv("offers"), trades: csv("trades") },
      ...{ ends: csv("ends"), pools: csv("pools") },
    },
    registries: { tokens: registry("tokens"), markets: registry("markets") },
  };
}
