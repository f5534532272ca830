// Parses JSON without rounding a number.

/** A number whose text has more digits than a double surely keeps, or an exponent of three digits; so may other text. */
const MAY_BE_ROUNDED = /\d[\d.]{15}|\de[+-]?\d{3}/i;

/** The largest count of digits that every double keeps, and the range in which it does. */
const DIGITS = 15;
const SMALLEST = 1e-300;

/** Whether a double rounds the number of this text. */
function isRounded(number: string): boolean {
  const value = Number(number);
  const digits = number.replace(/^-?[0.]+|[-.]|e.*$/gi, "");
  let { length } = digits;
  // Of 5.0 and 500 the zeros are no digits that can be lost. No regexp: it would look at each zero of a long number as the first.
  while (digits[length - 1] === "0") length -= 1;
  const isInRange = Number.isFinite(value) && (length === 0 || Math.abs(value) >= SMALLEST);
  return length > DIGITS || !isInRange;
}

/** Gives a number that a double would round as its text, which has all digits. Throws a SyntaxError where the text is no JSON. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Not by a reviver, which takes thirty times as long, also for short numbers beside a long one.
  return MAY_BE_ROUNDED.test(text) ? JSON.parse(withNumbersAsText(text)) : value;
}

/** The text of valid JSON, with quotes around each number that a double would round. No regexp: it would need a stack for long texts. */
function withNumbersAsText(json: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    if (code !== MINUS && !isDigit(code)) continue;
    const begin = at;
    while (isOfNumber(json.charCodeAt(at + 1))) at += 1;
    const number = json.slice(begin, at + 1);
    if (!MAY_BE_ROUNDED.test(number) || !isRounded(number)) continue;
    parts.push(json.slice(from, begin), `"${number}"`);
    from = at + 1;
  }
  return parts.join("") + json.slice(from);
}

/** Where the string that begins here has its last quote. */
function endOfString(json: string, begin: number): number {
  let at = begin + 1;
  for (; json.charCodeAt(at) !== QUOTE; at += 1) {
    if (json.charCodeAt(at) === BACKSLASH) at += 1;
  }
  return at;
}

const [QUOTE, BACKSLASH, MINUS] = ['"', "\\", "-"].map((char) => char.charCodeAt(0));

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Also the point, the exponent and its sign. */
const isOfNumber = (code: number): boolean =>
  isDigit(code) || "-+.eE".includes(String.fromCharCode(code));
