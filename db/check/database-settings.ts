// Checks the locale of the database, and how long other sessions may hold back the cleaning of rows.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Findings } from "./finding.ts";

const SETTINGS = new URL("./settings.sql", import.meta.url);

export async function readSettings(db: Database): Promise<Findings> {
  const { rows } = await db.query<{
    capitalOfI: string;
    isOtherAlphabet: boolean;
    maxPrepared: number;
    unlimitedLogins: string[];
  }>(await readFile(SETTINGS, "utf8"));
  const [found] = rows;
  if (found === undefined) throw new Error("pg_database does not have the current database");
  const { capitalOfI, isOtherAlphabet, maxPrepared, unlimitedLogins } = found;
  return {
    notes: [
      ...(unlimitedLogins.length > 0
        ? [
            `idle_in_transaction_session_timeout is 0 for ${unlimitedLogins.join(", ")}: ` +
              "a transaction that is left open makes every write slower",
          ]
        : []),
      ...(maxPrepared > 0
        ? [
            `max_prepared_transactions is ${maxPrepared}: ` +
              "a prepared transaction that is not ended makes every write slower, also after a restart",
          ]
        : []),
    ],
    findings: isOtherAlphabet
      ? [
          {
            check: "settings",
            object: "locale of the database",
            problem: `it writes i in capitals as ${capitalOfI}, so symbols are not found in any letter case`,
            remedy:
              "Create a database with another locale, such as C.UTF-8, and restore the history into it.",
          },
        ]
      : [],
  };
}
