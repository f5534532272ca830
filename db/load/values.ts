// Reads a value as a file gives it, in text.
import { checksumAddress, remembering } from "./checksum.ts";

/** Thrown for a value that is not accepted; the message says what is. */
export class NotAccepted extends Error {
  override name = "NotAccepted";
}

/** What PostgreSQL's integer holds: blocks, offers and log indexes. */
const LARGEST_INTEGER = 2_147_483_647;

/** A whole number between two bounds, both included, in digits. */
export function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new NotAccepted(`an integer from ${least} to ${most}, in digits`);
  };
}

export const wholeNumber = integer(0, LARGEST_INTEGER);

/** A trade's id: JSON carries every integer up to this bound exactly. */
export const tradeId = integer(1, Number.MAX_SAFE_INTEGER);

/** An amount of a token, as text: no float ever holds it. */
export function amount(text: string): string {
  if (/^0*\d{1,78}(\.\d{1,18})?$/.test(text)) return text;
  throw new NotAccepted(
    "a plain decimal from 0 to below 10^78 with at most 18 fractional digits, without sign or exponent",
  );
}

/** An address, which comes back with its checksum. In one case throughout it carries none yet. */
export const address = remembering((text) => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new NotAccepted("an address: 0x and 40 hex digits");
  const checked = checksumAddress(text);
  if (text === checked || !/[a-f]/.test(text) || !/[A-F]/.test(text)) return checked;
  throw new NotAccepted(`an address with a right EIP-55 checksum, which is ${checked}, or without`);
});

/** A 32-byte hash, which comes back in lower case. */
export function hash(text: string): string {
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) return text.toLowerCase();
  throw new NotAccepted("a hash: 0x and 64 hex digits");
}

/** A moment with its offset from UTC. PostgreSQL reads it as it stands. */
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
    'a time with its offset, like "2018-06-08 11:23:08+00" or "2018-06-08T11:23:08Z"',
  );
}

/** The last date that was one: a file has many rows of a day. */
let knownDate = "";

function isDate(text: string): boolean {
  if (text === knownDate) return true;
  if (text.startsWith("0000")) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  // A day that the month does not have is carried over into the next.
  const is = !Number.isNaN(midnight.valueOf()) && midnight.toISOString().startsWith(text);
  if (is) knownDate = text;
  return is;
}

/** `true` or `false`, also as PostgreSQL exports them. */
export function flag(text: string): boolean {
  if (/^(true|t)$/i.test(text)) return true;
  if (/^(false|f)$/i.test(text)) return false;
  throw new NotAccepted("true or false");
}

/** A symbol or a name, as on chain. PostgreSQL keeps no zero character. */
export function label(most: number): (text: string) => string {
  return (text) => {
    if (text.length <= most && !text.includes("\0")) return text;
    throw new NotAccepted(`text of at most ${most} characters, without the zero character`);
  };
}
