// Random pages of a list, and what is expected of each, by the whole list in its order.
import fc from "fast-check";

/** Cursors are positions in the whole list, the first argument before the second or not. */
export interface Page {
  set: number;
  after: number | null;
  before: number | null;
  first: number | null;
  last: number | null;
  offset: number | null;
}

/** A page of one of so many sets of a list of so many rows. */
export const anyPage = (sets: number, rows: number): fc.Arbitrary<Page> =>
  fc
    .record({
      set: fc.nat(sets - 1),
      after: fc.option(fc.nat(rows - 1)),
      before: fc.option(fc.nat(rows - 1)),
      count: fc.option(fc.nat(6)),
      offset: fc.option(fc.nat(4)),
      isLast: fc.boolean(),
    })
    .map(({ count, isLast, offset, ...others }) => ({
      ...others,
      first: isLast ? null : count,
      last: isLast ? count : null,
      offset: isLast && count !== null ? null : offset,
    }));

/** A page of no rows says what its cursors and its offset leave out. */
export function expectedPage<Id>(
  all: readonly { id: Id }[],
  isIn: (at: number) => boolean,
  { after, before, first, last, offset }: Page,
): { ids: Id[]; hasPreviousPage: boolean; hasNextPage: boolean } {
  const chosen = all.map(({ id }, at) => ({ id, at })).filter(({ at }) => isIn(at));
  const upTo = chosen.filter(({ at }) => after !== null && at <= after);
  const from = chosen.filter(({ at }) => before !== null && at >= before);
  const between = chosen.filter(
    ({ at }) => (after === null || at > after) && (before === null || at < before),
  );
  const skipped = between.slice(0, offset ?? 0);
  const rest = between.slice(offset ?? 0);
  const page =
    last === null ? rest.slice(0, first ?? undefined) : last === 0 ? [] : rest.slice(-last);
  const isCut = page.length > 0 && page.length < rest.length;
  return {
    ids: page.map(({ id }) => id),
    hasPreviousPage: upTo.length > 0 || skipped.length > 0 || (last !== null && isCut),
    hasNextPage: from.length > 0 || (first !== null && isCut),
  };
}

export const PAGE_VARIABLES =
  "query ($after: Cursor, $before: Cursor, $first: Int, $last: Int, $offset: Int)";
export const PAGE_ARGUMENTS =
  "after: $after, before: $before, first: $first, last: $last, offset: $offset";
