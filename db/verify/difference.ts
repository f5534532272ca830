// What db:verify reports.

/** A row that differs from what it should be. */
export interface Difference {
  /** The table and the key of the row. */
  row: string;
  /** The row in the database, as JSON; null if it is missing. */
  kept: string | null;
  /** The correct row, as JSON, or in words what it should be; null if there should be none. */
  right: string | null;
}

/** Maximum number of differences reported per table or rule. */
export const MAX_SHOWN = 100;
