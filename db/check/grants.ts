// Whether anybody may do more than is meant.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const EXCESSIVE = new URL("./excessive-rights.sql", import.meta.url);
const LOGINS = new URL("./logins.sql", import.meta.url);

/** By role, the rights beyond reading that it is meant to have. A `*` is for whatever follows. */
export type Rights = Partial<Record<string, string[]>>;

/** What db/README.md says. `public` is everybody. */
const MEANT: Rights = {
  // The door, and the tables that rows are copied into for it.
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
 * The rights that nobody is meant to have: of dex_reader anywhere in the database, of dex_writer and of
 * other roles on what is ours; and what the three roles, and the logins of dex_reader, are besides.
 */
export async function findExcessiveRights(
  db: Database,
  schemas: string[],
  meant = MEANT,
): Promise<Finding[]> {
  const { rows } = await db.query<{
    role: string;
    right: string;
    revoke: string;
    isReader: boolean;
  }>(await readFile(EXCESSIVE, "utf8"), [schemas]);
  return rows
    .filter(({ role, right }) => meant[role]?.some((one) => covers(one, right)) !== true)
    .map(({ role, right, revoke, isReader }) => ({
      check: "grants",
      object: role === "public" ? "everybody" : `${isReader ? "login" : "role"} ${role}`,
      problem: `it has ${right}, ${isReader ? WHY_LOGIN : why(role, right)}`,
      remedy: `Take it away: ${revoke};`,
    }));
}

/** The logins that may become one of the three roles, and which; for whoever knows them. */
export async function readLogins(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ login: string; roles: string }>(await readFile(LOGINS, "utf8"));
  return rows.map(({ login, roles }) => `${login} may become ${roles}`);
}

function covers(meant: string, right: string): boolean {
  return meant.endsWith("*") ? right.startsWith(meant.slice(0, -1)) : right === meant;
}

const WHY_LOGIN = "and may become dex_reader, as the service's login does, which is to read alone";

function why(role: string, right: string): string {
  if (right.startsWith("the setting")) {
    return "which has no effect: a session has the settings of its login";
  }
  if (role === "dex_reader") return "and is meant to read alone";
  if (role === "dex_writer") return "which is more than a writer needs";
  if (role === "dex_owner") return "which is more than an owner of the schema needs";
  if (role === "public") return "and each function is for the roles that it is granted to";
  return "and what is written is written by dex_writer";
}
