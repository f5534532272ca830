// What taking staged rows over came to.

/** How many rows are new in the database, and how many that were there changed. */
export interface Merged {
  added: number;
  changed: number;
}
