// What each part of an operation adds to its complexity and its cost: see assessment.ts.

/**
 * What a field adds to a plan. Grafast plans by steps, each of some 4 kB and 0.03 ms; these are the steps
 * that were measured for each kind of field, rounded up, so that the sum bounds both.
 */
export const STEPS = {
  scalar: 1,
  /** A record that is found by its key, or that another refers to. */
  record: 11,
  /** A list with its nodes or edges, and what its arguments add. */
  list: 30,
  totalCount: 13,
  pageInfo: 15,
  /** A row beside the page that `pageInfo` reads. */
  rowBeside: 9,
  /** Each type that an interface's object may be of. */
  possibleType: 14,
};

export const COUNT_COST = 10;
export const SKIPPED_PER_COST = 100;
/** All columns of a row, by their names, have fewer. */
export const CHARACTERS_PER_COST = 2000;
/** Characters of a value: of a hash or an address with its punctuation, and of a description. */
export const VALUE = { stored: 64, introspected: 300 };
export const WHOLE_TABLES = 25;
/** Comparisons of each row of a table that is read whole, which count as another table. */
export const COMPARISONS_PER_TABLE = 20;
/** A comparison that ignores case takes as long as several others. */
export const IGNORES_CASE_COST = 4;
/** So does looking a value up in a longer list; a shorter one is compared value by value. */
export const LIST_COST = 4;

/** A market's figures as of a past block, which are computed for each record. */
export const PAST_RECORD_COST = 25;
