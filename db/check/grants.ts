// Finds rights beyond the documented ones.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const EXCESSIVE = new URL("./excessive-rights.sql", import.meta.url);
const LOGINS = new URL("./logins.sql", import.meta.url);

/** The intended rights of each role beyond reading; a trailing `*` matches any suffix. */
export type Rights = Partial<Record<string, string[]>>;

/** The rights that db/README.md documents. `public` is PUBLIC. */
const INTENDED: Rights = {
  dex_writer: [
    "execute on ingest.write_block(integer, timestamp with time zone, text, text, jsonb, jsonb, integer[])",
    "execute on ingest.write_blocks()",
    "execute on ingest.take_turn()",
    "execute on ingest.take_back(integer)",
    "execute on ingest.register_token(text, text, integer, text)",
    "execute on ingest.register_pair(text, text, boolean)",
    ...["staged_block", "staged_offer", "staged_cancellation", "staged_trade"].flatMap((table) =>
      ["insert", "update", "delete"].map((right) => `${right} on ingest.${table}`),
    ),
  ],
};

/**
 * The unintended rights: of dex_reader in the whole database, of dex_writer and other roles in these schemas;
 * and unintended attributes, settings and memberships of the three roles and of dex_reader's logins.
 */
export async function findExcessiveRights(
  db: Database,
  schemas: string[],
  intended = INTENDED,
): Promise<Finding[]> {
  const { rows } = await db.query<{
    role: string;
    right: string;
    revoke: string;
    isReader: boolean;
  }>(await readFile(EXCESSIVE, "utf8"), [schemas]);
  return rows
    .filter(({ role, right }) => intended[role]?.some((one) => covers(one, right)) !== true)
    .map(({ role, right, revoke, isReader }) => ({
      check: "grants",
      object: role === "public" ? "everybody" : `${isReader ? "login" : "role"} ${role}`,
      problem: `it has ${right}, ${isReader ? LOGIN_REASON : reason(role, right)}`,
      remedy: `Revoke it: ${revoke};`,
    }));
}

/** The logins that may become one of the three roles, with these roles. */
export async function readLogins(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ login: string; roles: string }>(await readFile(LOGINS, "utf8"));
  return rows.map(({ login, roles }) => `${login} may become ${roles}`);
}

function covers(pattern: string, right: string): boolean {
  return pattern.endsWith("*") ? right.startsWith(pattern.slice(0, -1)) : right === pattern;
}

const LOGIN_REASON =
  "but it may become dex_reader, like the login of the service, and should only read";

function reason(role: string, right: string): string {
  if (right.startsWith("the setting")) {
    return "which has no effect: a session uses the settings of its login";
  }
  if (role === "dex_reader") return "but should only read";
  if (role === "dex_writer") return "which is more than a writer needs";
  if (role === "dex_owner") return "which is more than an owner of the schema needs";
  if (role === "public") return "but functions should be granted to single roles";
  return "but only dex_writer should write";
}
