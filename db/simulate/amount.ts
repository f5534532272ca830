// Token amounts: whole numbers of a token's smallest unit inside, decimal text outside.

/** 10 to this power. */
export const powerOfTen = (exponent: number): bigint => 10n ** BigInt(exponent);

/** So many smallest units as decimal text with exactly `decimals` fractional digits. */
export function toDecimal(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * Decimal text as a whole number of smallest units. Further digits must be zeros, as a numeric
 * column prints them; otherwise it throws.
 */
export function fromDecimal(text: string, decimals: number): bigint {
  const match = /^(\d+)(?:\.(\d*))?$/.exec(text);
  const fraction = match?.[2] ?? "";
  if (match?.[1] === undefined || /[1-9]/.test(fraction.slice(decimals))) {
    throw new RangeError(`${text} is no amount of a token with ${decimals} decimals`);
  }
  return BigInt(match[1] + fraction.slice(0, decimals).padEnd(decimals, "0"));
}

/** dividend ÷ divisor, rounded up; neither is negative. */
export const divideUp = (dividend: bigint, divisor: bigint): bigint =>
  (dividend + divisor - 1n) / divisor;
