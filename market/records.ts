// Shapes the rows of a query to the `data` of an envelope.
import { z } from "zod";
import { UnknownPair } from "./absent.ts";

export interface KeyedRow {
  /** BASE/QUOTE. */
  key: string;
}

export const decimal = z
  .string()
  .regex(/^(0|[1-9]\d*)(\.\d{0,17}[1-9])?$/)
  .meta({
    id: "Decimal",
    description:
      "A decimal number, exact: plain digits, no exponent, at most 18 fractional digits without " +
      'trailing zeros; "0" where the figure does not exist. It may have more digits than a binary ' +
      "float holds.",
  });

export const signedDecimal = z
  .string()
  .regex(/^(0|-?(0|[1-9]\d*)\.\d{0,17}[1-9]|-?[1-9]\d*)$/)
  .meta({
    id: "SignedDecimal",
    description: "A decimal number like Decimal, with a minus before it where it is below zero.",
  });

export const pairKey = z
  .string()
  .regex(/^[\s\S]+[/][\s\S]+$/)
  .meta({
    id: "PairKey",
    description: "The symbols of base and quote in upper case, joined by a slash.",
  });

export const digest = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .nullable()
  .describe(
    "The digest of all facts up to the block: databases with the same one have the same facts. Null where the " +
      "block was written by other means than the functions that write.",
  );

export const isoMoment = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time" });

export const recordsByKey = <Schema extends z.ZodType>(record: Schema) => z.record(pairKey, record);

/** The records by key, in the order of the rows. */
export function byKey<Row extends KeyedRow>(rows: Row[]): Record<string, Omit<Row, "key">> {
  return Object.fromEntries(rows.map(({ key, ...record }) => [key, record]));
}

/** The one record. Throws UnknownPair where there is none. */
export function onlyRecord<Row extends KeyedRow>([row]: Row[]): Omit<Row, "key"> {
  if (row === undefined) throw new UnknownPair();
  const { key: _key, ...record } = row;
  return record;
}
