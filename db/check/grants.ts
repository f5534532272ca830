// Finds rights beyond the documented ones.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const EXCESSIVE = new URL("./excessive-rights.sql", import.meta.url);
const LOGINS = new URL("./logins.sql", import.meta.url);

/** The rights beyond reading that db/README.md documents. */
const OF_WRITERS = [
  "execute on ingest.write_block(integer, timestamp with time zone, text, text, jsonb, jsonb, integer[], jsonb)",
  "execute on ingest.write_blocks()",
  "execute on ingest.take_turn()",
  "execute on ingest.take_back(integer)",
  "execute on ingest.begin_index(bigint, text, text, integer, text)",
  "execute on ingest.begin_mirror(bigint, text, text, integer, text)",
  "execute on ingest.checked_to(integer, integer)",
  "execute on ingest.fill_digests(integer)",
  "execute on ingest.found_all_contracts(integer)",
  "execute on ingest.found_contracts(jsonb)",
  "execute on ingest.offer_ids(text[], text[], integer[])",
  "execute on ingest.register_token(text, text, integer, text)",
  "execute on ingest.register_pair(text, text, boolean)",
  ...["block", "offer", "cancellation", "trade", "pool"].flatMap((rows) => [
    `insert on ingest.staged_${rows}`,
    `delete on ingest.staged_${rows}`,
    `update on ingest.own_${rows}`,
    `delete on ingest.own_${rows}`,
  ]),
];

/**
 * The unintended rights: of dex_reader in the whole database, of dex_writer and other roles in these schemas;
 * and unintended attributes, settings and memberships of the three roles and of dex_reader's logins.
 */
export async function findExcessiveRights(db: Database, schemas: string[]): Promise<Finding[]> {
  const { rows } = await db.query<{
    role: string;
    right: string;
    revoke: string;
    isReader: boolean;
  }>(await readFile(EXCESSIVE, "utf8"), [schemas]);
  return rows
    .filter(({ role, right }) => role !== "dex_writer" || !OF_WRITERS.includes(right))
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
