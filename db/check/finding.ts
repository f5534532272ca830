// What `npm run db:check` finds.

/** A fault of the database, or of a file that is tracked for it. */
export interface Finding {
  check:
    | "migrations"
    | "drift"
    | "sdl"
    | "comments"
    | "relations"
    | "grants"
    | "publications"
    | "settings";
  /** Kind and name, for example `column public.dex_trade.price`. */
  object: string;
  problem: string;
  remedy: string;
}

export interface Findings {
  /** Information that is not a fault. */
  notes: string[];
  findings: Finding[];
}
