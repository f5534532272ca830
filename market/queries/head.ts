// The head.
import type { Database } from "../../db/connect.ts";
import { NoBlockYet } from "../absent.ts";
import { readSnapshot, SELECT_MOMENT, type Moment, type Snapshot } from "./snapshot.ts";

/** No rows: the moment says it all. */
export const findHead = (db: Database): Promise<Snapshot<never>> =>
  readSnapshot<never>(db, {
    name: "rest_head",
    text: `${SELECT_MOMENT}, null as key from dex_private.as_of`,
  });

/** Throws NoBlockYet where none was ever written. */
export function headOf({ block }: Moment): number {
  if (block === null) throw new NoBlockYet();
  return block;
}
