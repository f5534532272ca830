// Decimals as strings: compared and added as BigInt, and shortened for the eye. None becomes a float, except for
// the place of a pixel.

const DIGITS = 18;
/** How many digits a shortened number has at least. */
const SHOWN = 6;
/** Longer whole numbers, and smaller fractions, get an exponent. */
const LONGEST_WHOLE = 12;
const MAX_ZEROS = 6;

/**
 * @param {string} text
 * @returns {{ sign: string, whole: string, fraction: string }}
 */
function partsOf(text) {
  const sign = text.startsWith("-") ? "-" : "";
  const [whole = "0", fraction = ""] = text.slice(sign.length).split(".");
  return { sign, whole, fraction };
}

/**
 * The decimal in units of its 18th digit.
 * @param {string} text
 */
export function unitsOf(text) {
  const { sign, whole, fraction } = partsOf(text);
  return BigInt(sign + whole + fraction.padEnd(DIGITS, "0"));
}

/**
 * The decimal of so many units, without trailing zeros.
 * @param {bigint} units
 */
export function decimalOf(units) {
  const digits = String(units < 0n ? -units : units).padStart(DIGITS + 1, "0");
  const fraction = digits.slice(-DIGITS).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -DIGITS)}${fraction && `.${fraction}`}`;
}

/**
 * Negative if the first is the smaller one.
 * @param {string} one
 * @param {string} other
 */
export function compare(one, other) {
  const difference = unitsOf(one) - unitsOf(other);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * Rounds a number without a sign to so many fractional digits, half up, without trailing zeros.
 * @param {string} whole
 * @param {string} fraction
 * @param {number} places
 */
function rounded(whole, fraction, places) {
  const kept = fraction.padEnd(places + 1, "0").slice(0, places + 1);
  const digits = String((BigInt(whole + kept) + 5n) / 10n).padStart(places + 1, "0");
  const cut = digits.length - places;
  const rest = digits.slice(cut).replace(/0+$/, "");
  return digits.slice(0, cut) + (rest && `.${rest}`);
}

/**
 * The power of ten of the first digit that is not 0.
 * @param {string} text
 */
export function powerOf(text) {
  const { whole, fraction } = partsOf(text);
  if (whole !== "0") return whole.length - 1;
  const zeros = fraction.search(/[1-9]/);
  return zeros === -1 ? 0 : -1 - zeros;
}

/**
 * The number times a power of ten.
 * @param {string} text
 * @param {number} power
 */
export function shifted(text, power) {
  const { sign, whole, fraction } = partsOf(text);
  const left = whole.padStart(1 + Math.max(0, -power), "0");
  const right = fraction.padEnd(Math.max(0, power), "0");
  const point = left.length + power;
  const digits = left + right;
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, "");
  const after = digits.slice(point).replace(/0+$/, "");
  return `${sign}${before}${after && `.${after}`}`;
}

/**
 * Rounded to about six digits, with separators of thousands.
 * @param {string} text
 */
export function shortened(text) {
  const { sign, whole, fraction } = partsOf(text);
  const power = powerOf(text);
  if (whole.length > LONGEST_WHOLE || power < -MAX_ZEROS) {
    const { whole: first, fraction: rest } = partsOf(shifted(text, -power).replace("-", ""));
    const mantissa = rounded(first, rest, SHOWN - 2);
    return mantissa === "10" ? `${sign}1e${power + 1}` : `${sign}${mantissa}e${power}`;
  }
  const places = whole === "0" ? SHOWN - 2 - power : Math.max(2, SHOWN - whole.length);
  const [before = "0", after] = rounded(whole, fraction, places).split(".");
  const grouped = before.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}${grouped}${after === undefined ? "" : `.${after}`}`;
}

/**
 * A float for the place of a pixel: the number over a power of ten.
 * @param {string} text
 * @param {number} power
 */
export const placeOf = (text, power) => Number(`${text}e${-power}`);
