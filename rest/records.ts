// Rows of a query → the `data` of an envelope.
import { UnknownPair } from "../server/errors.ts";
import type { TradeRow } from "./queries/trades.ts";

/** A row's record, and the BASE/QUOTE it is listed under. */
export interface KeyedRow {
  key: string;
}

/** All records, each under its key, in the order of the rows. */
export function byKey(rows: KeyedRow[]): object {
  return Object.fromEntries(rows.map(({ key, ...record }) => [key, record]));
}

/** The one record. Throws UnknownPair where there is none. */
export function onlyRecord([row]: KeyedRow[]): object {
  if (row === undefined) throw new UnknownPair();
  const { key: _key, ...record } = row;
  return record;
}

/** The trades of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function tradeRecords(rows: TradeRow[]): object[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows
    .filter((row) => row.id !== null)
    .map(({ id, price, volume, time }) => ({ id: Number(id), price, volume, time }));
}
