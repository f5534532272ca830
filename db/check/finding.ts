// What a check of a database has found, and what is to be done about it.

/** A fault of the database, or of what is tracked of it. */
export interface Finding {
  /** Which check found it. */
  check: "migrations" | "drift" | "sdl" | "comments" | "relations" | "grants" | "publications";
  /** What it is of, with its kind, such as `column public.dex_trade.price`. */
  object: string;
  /** What is wrong with it. */
  problem: string;
  /** What to do. */
  remedy: string;
}
