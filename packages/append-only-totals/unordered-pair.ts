// Recognizes a filter for two values in either order.

type Comparison = Record<string, unknown> | null | undefined;

const isOnlyEqualTo = (comparison: Comparison, value: unknown): boolean =>
  comparison?.["equalTo"] === value && Object.keys(comparison ?? {}).length === 1;

/** The values a and b of `or: [{one: {equalTo: a}, other: {equalTo: b}}, {…b…, …a…}]`; else undefined. */
export function unorderedPair(
  value: unknown,
  one: string,
  other: string,
): [string, string] | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const ways = value as Record<string, Comparison>[];
  const [a, b] = [ways[0]?.[one]?.["equalTo"], ways[0]?.[other]?.["equalTo"]];
  if (typeof a !== "string" || typeof b !== "string") return undefined;
  const isWay = (way: Record<string, Comparison> | null | undefined, x: string, y: string) =>
    isOnlyEqualTo(way?.[one], x) &&
    isOnlyEqualTo(way?.[other], y) &&
    Object.keys(way ?? {}).length === 2;
  return isWay(ways[0], a, b) && isWay(ways[1], b, a) ? [a, b] : undefined;
}
