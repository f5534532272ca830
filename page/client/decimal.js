// Decimals as strings: compared and added as BigInt, and shortened for the eye. None becomes a float, except for
// the place of a pixel.

const DIGITS = 18;
/** How many digits a shortened number has at least. */
const SHOWN = 6;
/** Longer whole numbers get an exponent. */
const LONGEST_WHOLE = 12;
/** More zeros behind the point are written as their number, small: 0.0₈1331. */
const MAX_ZEROS = 4;
const SMALL_DIGITS = "₀₁₂₃₄₅₆₇₈₉";
/** How many digits a compact number has. */
const COMPACT = 4;
const THOUSANDS = ["", "K", "M", "B", "T"];

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
 * @param {number} [places] Which digit the units are of.
 */
export function decimalOf(units, places = DIGITS) {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -places)}${fraction && `.${fraction}`}`;
}

/** Without trailing zeros, as REST has amounts. @param {string} text */
export const withoutZeros = (text) => decimalOf(unitsOf(text));

/**
 * Half of the sum, whole: it can have a digit more.
 * @param {string} one
 * @param {string} other
 */
export const middleOf = (one, other) =>
  // Half of a unit is five of the next digit.
  decimalOf((unitsOf(one) + unitsOf(other)) * 5n, DIGITS + 1);

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

/** @param {string} whole */
const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

/** @param {string} text */
const withoutSign = (text) => text.replace("-", "");

/**
 * How many fractional digits the shortened number has at most.
 * @param {string} text
 */
export function placesOf(text) {
  const { whole } = partsOf(text);
  return whole === "0" ? SHOWN - 2 - powerOf(text) : Math.max(2, SHOWN - whole.length);
}

/**
 * How many fractional digits the numbers of a column have: those of the one in the middle, since one far below the others would
 * lengthen all.
 * @param {readonly string[]} numbers
 */
export const placesIn = (numbers) =>
  numbers.map(placesOf).sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

/**
 * Rounded to about six digits, with separators of thousands; with `places` to so many fractional digits, none left out,
 * unless they all were 0.
 * @param {string} text
 * @param {number} [places]
 */
export function shortened(text, places) {
  const { sign, whole, fraction } = partsOf(text);
  const power = powerOf(text);
  if (whole.length > LONGEST_WHOLE) {
    const { whole: first, fraction: rest } = partsOf(withoutSign(shifted(text, -power)));
    const mantissa = rounded(first, rest, SHOWN - 2);
    return mantissa === "10" ? `${sign}1e${power + 1}` : `${sign}${mantissa}e${power}`;
  }
  // A number of which so few digits would leave nothing keeps its own.
  const most = places !== undefined && power >= -places ? places : undefined;
  const [before = "0", found = ""] = rounded(whole, fraction, most ?? placesOf(text)).split(".");
  const after = found.padEnd(most ?? 0, "0");
  if (after === "") return `${sign}${grouped(before)}`;
  const zeros = before === "0" ? after.search(/[1-9]/) : 0;
  const behind = zeros > MAX_ZEROS - 1 ? `0${small(zeros)}${after.slice(zeros)}` : after;
  return `${sign}${grouped(before)}.${behind}`;
}

/**
 * Rounded to two fractional digits, or to its first two digits where it is smaller.
 * @param {string} text
 */
export const shortPercent = (text) => shortened(text, Math.max(2, 1 - powerOf(text)));

/** @param {number} count */
const small = (count) => [...String(count)].map((digit) => SMALL_DIGITS[Number(digit)]).join("");

/**
 * Rounded to four digits, with K, M, B or T for powers of a thousand.
 * @param {string} text
 */
export function compact(text) {
  const { sign, whole } = partsOf(text);
  const steps = Math.min(Math.floor((whole.length - 1) / 3), THOUSANDS.length - 1);
  if (whole === "0" || whole.length > 3 * THOUSANDS.length) return shortened(text);
  const { whole: first, fraction } = partsOf(withoutSign(shifted(text, -3 * steps)));
  const [before = "0", after] = rounded(first, fraction, COMPACT - first.length).split(".");
  // Rounded up to the next thousand.
  if (before === "1000" && steps + 1 < THOUSANDS.length) return `${sign}1${THOUSANDS[steps + 1]}`;
  return `${sign}${grouped(before)}${after === undefined ? "" : `.${after}`}${THOUSANDS[steps]}`;
}

/**
 * A float for the place of a pixel: the number over a power of ten.
 * @param {string} text
 * @param {number} power
 */
export const placeOf = (text, power) => Number(`${text}e${-power}`);
