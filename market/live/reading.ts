// The snapshot of a change, in which each thing is read once.
import type { Database } from "../../db/connect.ts";
import { readPlace } from "../place.ts";
import type { Reading } from "./topic.ts";

export async function readingOf(db: Database, { isOneByOne = false } = {}): Promise<Reading> {
  const known = new Map<string, Promise<unknown>>();
  const ofLists = new Map<object, Map<string, Promise<unknown>>>();
  return {
    db,
    now: await readPlace(db),
    isOneByOne,
    once<Value>(key: string, read: () => Promise<Value>, of?: object) {
      const values =
        of === undefined ? known : (ofLists.get(of) ?? new Map<string, Promise<unknown>>());
      if (of !== undefined) ofLists.set(of, values);
      const value = values.get(key) ?? read();
      values.set(key, value);
      return value as Promise<Value>;
    },
  };
}
