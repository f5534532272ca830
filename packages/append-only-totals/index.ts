// An exact totalCount of append-only tables, without reading the whole table: see README.md.
export { makeAppendOnlyPlugin } from "./append-only.ts";
export type { PageAttempt } from "./page-attempt.ts";
export { makeTotalCountPlugin } from "./total-count.ts";
export { unorderedPair } from "./unordered-pair.ts";
