// The head as the service last saw it, for the answers that read nothing from the database.
import type { Snapshot } from "./queries/snapshot.ts";

export class LastHead {
  #time: string | undefined;

  /** Passes a snapshot on, and remembers its moment if that is a declared head. */
  async see<Row>(snapshot: Promise<Snapshot<Row>>): Promise<Snapshot<Row>> {
    const seen = await snapshot;
    this.#time = seen.isHead ? seen.time : undefined;
    return seen;
  }

  /** ISO 8601 UTC with milliseconds: the time of the last head seen, else of the clock. */
  time(): string {
    return this.#time ?? new Date().toISOString();
  }
}
