// Medians and percentiles of what was measured.

/** The middle value, of an even number the mean of the two in the middle. Throws where there is none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new Error("nothing was measured");
  return (lower + upper) / 2;
}

/** The least value that at least this share (0 to 1) of the values does not exceed: nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const found = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (found === undefined) throw new Error("nothing was measured");
  return found;
}
