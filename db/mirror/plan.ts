// Which days of a manifest a database lacks, and which of their files it needs.
import type { Client } from "../connect.ts";
import { dayAfter } from "../export/days.ts";
import type { Contents, ListedDay, ListedFile } from "../export/manifest.ts";
import { MirrorError } from "./mirror-error.ts";

/** In the order in which they are read. */
export const KINDS = ["blocks", "offers", "trades", "ends", "pools"] as const;
export type Kind = (typeof KINDS)[number];

export interface PlannedDay {
  day: string;
  firstBlock: number;
  lastBlock: number;
  digest: string;
  files: Record<Kind, ListedFile>;
  /** What is registered, as files named by their bytes. */
  registries: Record<"tokens" | "markets", ListedFile>;
}

/** Throws a MirrorError for a manifest whose parts contradict each other. */
export function plan({ basis, days }: Contents, maxDayBytes: number): PlannedDay[] {
  const planned: PlannedDay[] = [];
  let before: ListedDay | undefined;
  for (const day of days) {
    const last = planned.at(-1);
    const refuse = (problem: string): never => {
      throw new MirrorError(`the manifest contradicts itself: ${day.day} ${problem}`);
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
    const one = plannedDay({ ...day, firstBlock, lastBlock });
    const bytes = KINDS.reduce((sum, kind) => sum + one.files[kind].bytes, 0);
    if (bytes > maxDayBytes) {
      throw new MirrorError(
        `the files of ${day.day} have ${bytes} bytes, more than the ${maxDayBytes} that a day may have (--max-day-bytes)`,
      );
    }
    planned.push(one);
  }
  return planned;
}

function plannedDay({
  day,
  firstBlock,
  lastBlock,
  digest,
  files,
}: ListedDay & { firstBlock: number; lastBlock: number }): PlannedDay {
  const of = (kind: string, isRight: (name: string) => boolean): ListedFile => {
    const found = files.filter((file) => file.kind === kind && isRight(file.name));
    const [file] = found;
    if (file !== undefined && found.length === 1) return file;
    throw new MirrorError(
      `the manifest lists ${found.length} files of ${kind} for ${day}, not one`,
    );
  };
  const csv = (kind: string): ListedFile => of(kind, (name) => name === `${kind}-${day}.csv.gz`);
  const registry = (kind: string): ListedFile =>
    of(kind, (name) => name === `${kind}-${name.slice(-20, -4)}.csv`);
  return {
    ...{ day, firstBlock, lastBlock, digest },
    files: {
      ...{ blocks: csv("blocks"), offers: csv("offers"), trades: csv("trades") },
      ...{ ends: csv("ends"), pools: csv("pools") },
    },
    registries: { tokens: registry("tokens"), markets: registry("markets") },
  };
}

/** The days that the database lacks. Throws a MirrorError that names the first day whose digest is another here. */
export async function missingDays(
  client: Client,
  planned: readonly PlannedDay[],
): Promise<PlannedDay[]> {
  const { rows } = await client.query<{ at: string; here: string | null }>(
    `select
      listed.at - 1 as at,
      dex_block_digest(block) as here
    from unnest($1::integer[], $2::text[]) with ordinality as listed (number, digest, at)
    cross join (
      select max(recorded.number) as number
      from dex_block as recorded
    ) as head
    left join dex_block as block on block.number = listed.number
    where listed.number <= head.number
      and dex_block_digest(block) is distinct from listed.digest
    order by listed.at
    limit 1`,
    [planned.map(({ lastBlock }) => lastBlock), planned.map(({ digest }) => digest)],
  );
  const [different] = rows;
  const day = different === undefined ? undefined : planned[Number(different.at)];
  if (day !== undefined) {
    throw new MirrorError(
      `${day.day}: at its last block, ${day.lastBlock}, this database has the digest ${different?.here ?? "none"}, and the origin ${day.digest}. They have different facts: nothing can be added`,
    );
  }
  const { rows: heads } = await client.query<{ number: number | null }>(
    "select max(number) as number from dex_block",
  );
  const head = heads[0]?.number ?? -1;
  return planned.filter(({ lastBlock }) => lastBlock > head);
}
