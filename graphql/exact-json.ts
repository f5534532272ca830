// Parses JSON without rounding a number.

/** A number whose text has more digits than a double surely keeps, or an exponent of three digits; so may other text. */
const MAY_BE_ROUNDED = /\d[\d.]{15,}|\de[+-]?\d{3}/i;

/** The largest count of digits that every double keeps, and the range in which it does. */
const DIGITS = 15;
const SMALLEST = 1e-300;

/** Gives a number that a double would round as its text, which has all digits. */
export const exactNumber = (
  _name: string,
  value: unknown,
  { source = "" }: { source?: string } = {},
): unknown => {
  if (typeof value !== "number") return value;
  const digits = source.replace(/e.*$/i, "").replace(/[-.]/g, "").replace(/^0+/, "");
  const isInRange = Number.isFinite(value) && (digits === "" || Math.abs(value) >= SMALLEST);
  return digits.length <= DIGITS && isInRange ? value : source;
};

type Reviver = typeof exactNumber;

/** Throws a SyntaxError where the text is no JSON. */
export const parseJson = (text: string, revive: Reviver = exactNumber): unknown =>
  MAY_BE_ROUNDED.test(text) ? JSON.parse(text, revive) : JSON.parse(text);
