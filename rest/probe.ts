// Tries every statement of the endpoints, with what names no market and no token.
import type { Database } from "../db/connect.ts";
import { ClientFacingError } from "../http/errors.ts";
import { Absent } from "../market/absent.ts";
import { NO_PAIR } from "../market/queries/snapshot.ts";
import { namesPair, type Endpoint, type Version } from "./endpoint.ts";

export interface Unreadable {
  path: string;
  error: unknown;
}

/** Tries one after the other, on one connection. Throws an error that concerns all statements. */
export async function findUnreadable(
  db: Database,
  versions: readonly Version[],
  concernsAll: (error: unknown) => boolean,
): Promise<Unreadable[]> {
  const unreadable = new Map<unknown, string>();
  const each = eachOnce(db);
  for (const { name, endpoints } of versions) {
    for (const declared of endpoints) {
      await probe(each, declared).catch((error: unknown) => {
        // What it asks for is not there, or not accepted: the statement was readable.
        if (error instanceof Absent || error instanceof ClientFacingError) return;
        if (concernsAll(error)) throw error;
        if (!unreadable.has(error)) unreadable.set(error, `/${name}${declared.path}`);
      });
    }
  }
  return [...unreadable].map(([error, path]) => ({ path, error }));
}

async function probe(db: Database, { path, query = {}, find, probe }: Endpoint): Promise<unknown> {
  if (probe !== undefined) return probe(db);
  const examples = Object.entries(query).map(([name, { schema, example, none }]) => [
    name,
    none ?? schema.parse(example),
  ]);
  const asked = Object.fromEntries(examples) as Record<string, unknown>;
  return find(db, (namesPair(path) ? NO_PAIR : undefined) as never, asked);
}

/** Answers a named statement once, to all endpoints that send it. */
function eachOnce(db: Database): Database {
  const sent = new Map<string, Promise<unknown>>();
  const query = (statement: { name: string }): Promise<unknown> => {
    const known = sent.get(statement.name) ?? db.query(statement as never);
    sent.set(statement.name, known);
    return known;
  };
  return { query } as unknown as Database;
}
