// Parses the values of CSV files.
import { checksumAddress, remembering } from "./checksum.ts";

/** Thrown for an invalid value; the message describes a valid one. */
export class NotAccepted extends Error {
  override name = "NotAccepted";
}

/** The maximum of PostgreSQL's integer, the type of blocks, offers and log indexes. */
const LARGEST_INTEGER = 2_147_483_647;

/** An integer between two inclusive bounds, in digits. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new NotAccepted(`an integer from ${min} to ${max}, in digits`);
  };
}

export const wholeNumber = integer(0, LARGEST_INTEGER);

/** A trade's id. JSON numbers are exact up to 2^53: half of them are left for the trades after it. */
export const tradeId = integer(1, 2 ** 52 - 1);

/** A token amount, kept as text because a float would round it. */
export function amount(text: string): string {
  if (/^0*\d{1,78}(\.\d{1,18})?$/.test(text)) return text;
  throw new NotAccepted(
    "a decimal number from 0 to below 10^78 with at most 18 fractional digits, without sign or exponent",
  );
}

/** An address, returned with its checksum. An address in one letter case has no checksum to verify. */
export const address = remembering((text) => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new NotAccepted("an address: 0x and 40 hex digits");
  const checked = checksumAddress(text);
  if (text === checked || !/[a-f]/.test(text) || !/[A-F]/.test(text)) return checked;
  throw new NotAccepted(
    `an address with a valid EIP-55 checksum, here ${checked}, or in one letter case`,
  );
});

/** A 32-byte hash, returned in lower case. */
export function hash(text: string): string {
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) return text.toLowerCase();
  throw new NotAccepted("a hash: 0x and 64 hex digits");
}

/** A timestamp with its UTC offset, returned unchanged for PostgreSQL to parse. */
export function time(text: string): string {
  const found =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d{1,6})?(Z|[+-](\d\d)(:?(\d\d))?)$/.exec(text);
  if (found !== null) {
    const [, date = "", hour, minute, second, , , offsetHours = 0, , offsetMinutes = 0] = found;
    const fits =
      isDate(date) &&
      Number(hour) < 24 &&
      Number(minute) < 60 &&
      Number(second) < 60 &&
      Number(offsetHours) < 16 &&
      Number(offsetMinutes) < 60;
    if (fits) return text;
  }
  throw new NotAccepted(
    'a time with its UTC offset, such as "2018-06-08 11:23:08+00" or "2018-06-08T11:23:08Z"',
  );
}

/** Cache of the last valid date, because a file has many rows of the same day. */
let lastValidDate = "";

function isDate(text: string): boolean {
  if (text === lastValidDate) return true;
  // In UTC a time of the first or the last day can be outside the years 1 to 9999.
  if (text <= "0001-01-01" || text >= "9999-12-31") return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  // Date turns 31 June into 1 July instead of failing.
  const isValid = !Number.isNaN(midnight.valueOf()) && midnight.toISOString().startsWith(text);
  if (isValid) lastValidDate = text;
  return isValid;
}

/** `true` or `false`, or `t` or `f`, which PostgreSQL exports. */
export function flag(text: string): boolean {
  if (/^(true|t)$/i.test(text)) return true;
  if (/^(false|f)$/i.test(text)) return false;
  throw new NotAccepted("true or false");
}

/** Whether PostgreSQL can have it as text. A half of a surrogate pair has no UTF-8. */
export const isText = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** A token's symbol or name. */
export function label(max: number): (text: string) => string {
  return (text) => {
    if (text.length <= max && isText(text)) return text;
    throw new NotAccepted(`text of at most ${max} characters without the zero character (U+0000)`);
  };
}
