// Computes the digest of each block from the CSV files alone, as docs/digests.md has it.
import { createHash } from "node:crypto";
import { blocksOfDay, type Facts, type Row } from "./exported-rows.ts";
import type { PlannedDay } from "./planned-days.ts";

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
