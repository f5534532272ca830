// The manifest of a folder of files: what is in each, so that a copy can be checked.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { errorText } from "../error-text.ts";
import { parseInSteps } from "../parse-in-steps.ts";
import { FORMAT } from "./format.ts";
import { writeWhole } from "./new-file.ts";

export const MANIFEST = "manifest.json";

/** No name has a separator, or begins with a dot. */
export const NAME = /^[a-z]+-(?:\d{4}-\d\d-\d\d\.(?:csv\.gz|parquet)|[0-9a-f]{16}\.csv)$/;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const block = z.int().min(0).max(2_147_483_647);

const file = z.object({
  name: z.string().regex(NAME).describe("Its name, with its kind and day."),
  kind: z.string().describe("What its rows are."),
  rows: z.int().min(0).describe("How many, without the header of a CSV file."),
  bytes: z.int().min(0),
  sha256: sha256.describe("SHA-256 of its bytes."),
});

const day = z.object({
  day: z.iso.date().describe("The day in UTC."),
  firstBlock: block.nullable().describe("Its first block with rows; null where it has none."),
  lastBlock: block.nullable().describe("Its last block with rows."),
  digest: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/)
    .describe("The digest of all facts up to the end of the day."),
  files: z.array(file).describe("None where the day has no block with rows."),
});

export const basisSchema = z.object({
  version: z.int().describe("Version of the canonical form of digests."),
  firstBlock: block.describe("The first block with rows, with which digests begin."),
  hashed: z.boolean().describe("Whether that block has a hash."),
  chainId: z
    .int()
    .nullable()
    .describe("The id of the chain; null where no indexer wrote, like what follows."),
  exchange: z.string().nullable().describe("Addresses of the contracts, in lower case."),
  kind: z.string().nullable().describe("The kinds of exchanges, by which their events are read."),
  taker: z
    .string()
    .nullable()
    .describe("Whose trade it is: the taker of the `event`, or the `sender` of its transaction."),
});

export type Basis = z.infer<typeof basisSchema>;

const contents = z.object({
  format: z.literal(FORMAT).describe("Version of the files' format."),
  basis: basisSchema.describe("What decides digests beside the facts, as in `/v2/head`."),
  days: z.array(day).describe("Every day from the first to the last final one."),
});

export const manifestSchema = contents
  .extend({ sha256: sha256.describe("SHA-256 of this document without this field.") })
  .meta({ id: "Manifest" });

export type ListedFile = z.infer<typeof file>;
export type ListedDay = z.infer<typeof day>;
export type Contents = z.infer<typeof contents>;

/** The manifest is missing, or is not as it was written. */
export class BadManifest extends Error {
  override readonly name = "BadManifest";
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

export function manifestText(given: Contents): string {
  const whole = contents.parse(given);
  return `${JSON.stringify({ ...whole, sha256: hashOf(JSON.stringify(whole)) })}\n`;
}

/** Throws BadManifest where a bit of it is another, or a name stands for two files. */
export function parseManifest(text: string): Contents {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new BadManifest(`${MANIFEST} is not JSON`);
  }
  const format = (given as { format?: unknown } | null)?.format;
  if (typeof format === "number" && format !== FORMAT) {
    throw new BadManifest(`${MANIFEST} is of format ${format}, and this program has ${FORMAT}`);
  }
  const { sha256: recorded, ...rest } = parsed(given);
  if (manifestText(rest) !== text) {
    throw new BadManifest(`${MANIFEST} is not what was written: its sha256 is ${recorded}`);
  }
  refuseDoubled(rest);
  return rest;
}

/** Only files of registrations are of several days. */
function refuseDoubled({ days }: Contents): void {
  const known = new Map<string, { day: string; file: ListedFile }>();
  for (const { day, files } of days) {
    for (const file of files) {
      const before = known.get(file.name);
      known.set(file.name, { day, file });
      if (before === undefined) continue;
      const isSame = isDeepStrictEqual(before.file, file);
      if (isSame && before.day !== day) continue;
      throw new BadManifest(
        `${MANIFEST} lists ${file.name} twice: for ${before.day}, and for ${day}${isSame ? "" : " otherwise"}`,
      );
    }
  }
}

function parsed(given: unknown): z.infer<typeof manifestSchema> {
  try {
    return parseInSteps(manifestSchema, given);
  } catch (error) {
    throw new BadManifest(`${MANIFEST} at ${errorText(error)}`);
  }
}

/** Undefined where the folder has none. */
export async function readManifest(dir: string): Promise<Contents | undefined> {
  const text = await readFile(join(dir, MANIFEST), "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  return text === undefined ? undefined : parseManifest(text);
}

export const writeManifest = (dir: string, given: Contents): Promise<unknown> =>
  writeWhole(dir, MANIFEST, manifestText(given));
