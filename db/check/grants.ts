// Whether dex_reader can write nothing, and dex_writer no more than it needs.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const EXCESSIVE = new URL("./excessive-rights.sql", import.meta.url);

/**
 * What dex_writer may do besides reading, as db/README.md says. Temporary tables, which it loads
 * through, are a right on the database.
 */
const WRITER_RIGHTS = [
  ...["insert on public.dex_token", "update on public.dex_token"],
  ...["insert on public.dex_pair", "update on public.dex_pair"],
  ...["insert on public.dex_offer", "update on public.dex_offer"],
  ...["insert on public.dex_trade", "delete on public.dex_trade"],
  ...["insert on public.dex_head", "update on public.dex_head", "delete on public.dex_head"],
  "update on public.dex_trade_id_seq",
  "execute on dex_private.take_back(integer, timestamp with time zone)",
  "temporary on the database",
];

/**
 * The rights to write that nobody is meant to have: of dex_reader anywhere in the database, of
 * dex_writer and of other roles on what is ours.
 */
export async function findExcessiveRights(db: Database, schemas: string[]): Promise<Finding[]> {
  const { rows } = await db.query<{ role: string; right: string; revoke: string }>(
    await readFile(EXCESSIVE, "utf8"),
    [schemas],
  );
  return rows
    .filter(({ role, right }) => role !== "dex_writer" || !WRITER_RIGHTS.includes(right))
    .map(({ role, right, revoke }) => ({
      check: "grants",
      object: `role ${role}`,
      problem: `it has ${right}${meant(role)}`,
      remedy: `Take it away: ${revoke};`,
    }));
}

function meant(role: string): string {
  if (role === "dex_reader") return ", and is meant to read alone";
  if (role === "dex_writer") return ", which is more than a writer needs";
  return ", and what is written is written by dex_writer";
}
