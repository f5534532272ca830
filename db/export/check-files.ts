// Checks the files of a folder against its manifest: their bytes, their rows, and the digest of each block, which is computed
// from the CSV files alone, as docs/digests.md has it.
import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { errorText } from "../error-text.ts";
import { readCsv } from "../load/read-csv.ts";
import { blocksOfDay, rowsOf, type Facts, type Row } from "./exported-rows.ts";
import {
  BadManifest,
  MANIFEST,
  readManifest,
  type Contents,
  type ListedDay,
  type ListedFile,
} from "./manifest.ts";
import { plannedDays, type PlannedDay } from "./planned-days.ts";

export interface Checked {
  files: number;
  bytes: number;
  /** Each names the file. */
  problems: string[];
}

/** Reads every byte, and computes the digest of every block from the CSV files. */
export async function checkFolder(dir: string): Promise<Checked> {
  const checked: Checked = { files: 0, bytes: 0, problems: [] };
  try {
    const manifest = await readManifest(dir);
    if (manifest === undefined) checked.problems.push(`${MANIFEST} is missing`);
    else await checkListed(dir, manifest, checked);
  } catch (error) {
    if (!(error instanceof BadManifest)) throw error;
    checked.problems.push(error.message);
  }
  return checked;
}

async function checkListed(dir: string, manifest: Contents, checked: Checked): Promise<void> {
  const listed = new Map<string, ListedFile>();
  for (const file of manifest.days.flatMap(({ files }) => files)) listed.set(file.name, file);
  for (const file of listed.values()) {
    checked.files += 1;
    checked.bytes += file.bytes;
    const problem = await problemOf(dir, file);
    if (problem !== undefined) checked.problems.push(`${file.name} ${problem}`);
  }
  if (checked.problems.length > 0) return;
  const planned = plannedDays(manifest);
  const problem =
    (await basisProblem(dir, manifest, planned)) ??
    (await digestProblem(dir, planned)) ??
    (await rowsProblem(dir, manifest));
  if (problem !== undefined) checked.problems.push(problem);
}

/** What the files do not show of the basis, as the chain, is not compared. */
async function basisProblem(
  dir: string,
  { basis }: Contents,
  [first]: readonly PlannedDay[],
): Promise<string | undefined> {
  const problem = versionProblem(basis.version);
  if (problem !== undefined || first === undefined) return problem;
  const { name } = first.files.blocks;
  try {
    for await (const { hash } of rowsOf(join(dir, name), "blocks")) {
      if ((hash !== null) === basis.hashed) return undefined;
      return `${name} begins ${basis.hashed ? "without a hash" : "with a hash"}, and \`hashed\` of the basis is ${basis.hashed}`;
    }
  } catch (error) {
    return `${first.day}: ${errorText(error)}`;
  }
  return undefined;
}

/** Of the files from which no digest is computed. Those of Parquet are compared with CSV files that have the listed rows. */
async function rowsProblem(dir: string, { days }: Contents): Promise<string | undefined> {
  const counted = new Set<string>();
  for (const { day, files } of days) {
    for (const file of files) {
      if (counted.has(file.name)) continue;
      counted.add(file.name);
      try {
        const rows = await rowsIn(dir, file, files);
        if (rows === file.rows) continue;
        return `${file.name} has ${rows} rows, and the manifest says ${file.rows}`;
      } catch (error) {
        return `${day}: ${errorText(error)}`;
      }
    }
  }
  return undefined;
}

async function rowsIn(
  dir: string,
  { name, kind, rows }: ListedFile,
  ofDay: ListedDay["files"],
): Promise<number> {
  let count = 0;
  if (name.endsWith(".parquet")) {
    const csv = ofDay.find((file) => file.name === name.replace(/parquet$/, "csv.gz"));
    return csv?.rows ?? rows;
  }
  if (name.endsWith(".csv.gz")) {
    if (kind !== "candles") return rows;
    for await (const _ of rowsOf(join(dir, name), kind)) count += 1;
    return count;
  }
  for await (const lines of readCsv(join(dir, name), name)) count += lines.length;
  return count - 1;
}

/** The first one: each digest follows from the one before. */
async function digestProblem(
  dir: string,
  days: readonly PlannedDay[],
): Promise<string | undefined> {
  let digest = FIRST_DIGEST;
  for (const day of days) {
    try {
      digest = await digestOfDay(dir, day, digest);
    } catch (error) {
      return `${day.day}: ${errorText(error)}`;
    }
    const found = `0x${digest.toString("hex")}`;
    if (found !== day.digest) {
      return `${day.day} ends with the digest ${found}, and the manifest says ${day.digest}`;
    }
  }
  return undefined;
}

async function problemOf(
  dir: string,
  { name, bytes, sha256 }: ListedFile,
): Promise<string | undefined> {
  const path = join(dir, name);
  const stat = await lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (stat === undefined) return "is missing";
  if (!stat.isFile()) return "is not a file";
  if (stat.size !== bytes) return `has ${stat.size} bytes, and the manifest says ${bytes}`;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  const found = hash.digest("hex");
  return found === sha256 ? undefined : `has the SHA-256 ${found}, and the manifest says ${sha256}`;
}

/** The fields of the line of a fact, a column each. "ends" has cancellations, and ends that follow from other facts. */
const FACTS: Record<keyof Facts, { word: string; fields: string[] }> = {
  offers: {
    word: "offer",
    fields: [
      ...["offer", "maker", "pair", "lot_gem", "lot_amt", "bid_gem", "bid_amt", "tx", "venue"],
      "closed",
    ],
  },
  trades: {
    word: "trade",
    fields: [
      ...["idx", "offer", "maker", "taker", "pair", "lot_gem", "lot_amt", "bid_gem", "bid_amt"],
      ...["tx", "venue"],
    ],
  },
  ends: { word: "cancel", fields: ["offer"] },
  pools: {
    word: "pool",
    fields: [
      ...["venue", "gem0", "reserve0", "gem1", "reserve1", "fee"],
      ...["tick_spacing", "sqrt_price", "tick", "liquidity", "nets"],
    ],
  },
};

/** The version of the canonical form that is computed here. */
const DIGEST_VERSION = 1;

/** What is said of a basis of another version. */
export const versionProblem = (version: number): string | undefined =>
  version === DIGEST_VERSION
    ? undefined
    : `the basis has version ${version} of digests, and this program ${DIGEST_VERSION}`;

export const FIRST_DIGEST: Buffer = Buffer.alloc(32);

/** The digest at the end of the day, after the one before it. Throws where a block's is not that of its facts. */
export async function digestOfDay(dir: string, day: PlannedDay, before: Buffer): Promise<Buffer> {
  let digest = before;
  for await (const { number, row, facts } of blocksOfDay(dir, day)) {
    const lines: Buffer[] = [];
    for (const kind of ["offers", "trades", "ends", "pools"] as const) {
      const { word, fields } = FACTS[kind];
      for (const fact of facts[kind]) {
        if (fact["event"] !== "filled") lines.push(Buffer.from(`${lineOf(word, fields, fact)}\n`));
      }
    }
    const head = `block ${number} ${row["hash"] ?? "-"} ${secondsOf(row["time"] ?? "")}\n`;
    const form = Buffer.concat([
      digest,
      Buffer.from(head),
      ...lines.sort((one, other) => one.compare(other)),
    ]);
    digest = createHash("sha256").update(form).digest();
    const found = `0x${digest.toString("hex")}`;
    if (found === row["digest"]) continue;
    throw new Error(
      `block ${number} has the digest ${row["digest"] ?? ""}, and its facts have ${found}`,
    );
  }
  return digest;
}

const STATES: Record<string, string> = { true: "closed", false: "open" };

function lineOf(word: string, fields: string[], row: Row): string {
  if (word === "pool") {
    // The line of a pool has what it has alone, and another word where that is ranges.
    const has = fields.map((name) => row[name] ?? null).filter((value) => value !== null);
    return [row["sqrt_price"] == null ? word : "ranges", ...has].join(" ");
  }
  return [
    word,
    ...fields.map((name) => (name === "closed" ? STATES[row[name] ?? ""] : (row[name] ?? "-"))),
  ].join(" ");
}

/** A plain decimal without trailing zeros. */
function secondsOf(time: string): string {
  const seconds = Date.parse(`${time.slice(0, 19)}Z`) / 1000;
  const fraction = time.slice(20, 26).replace(/0+$/, "");
  if (fraction === "") return String(seconds);
  // Before 1970 the fraction counts upwards from the second below.
  const micros = BigInt(seconds) * 1_000_000n + BigInt(time.slice(20, 26));
  const digits = String(micros < 0n ? -micros : micros).padStart(7, "0");
  return `${micros < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6).replace(/0+$/, "")}`;
}
