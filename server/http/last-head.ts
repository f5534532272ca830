// The head as the service last saw it, for the answers that read nothing from the database.

interface Moment {
  time: string;
  /** Null if the moment is the database's clock. */
  block: number | null;
}

export class LastHead {
  #time: string | undefined;

  /** Remembers the moment of a snapshot if that is a head, and returns the snapshot. */
  see<Snapshot extends Moment>(snapshot: Snapshot): Snapshot {
    this.#time = snapshot.block !== null ? snapshot.time : undefined;
    return snapshot;
  }

  /** ISO 8601 UTC with milliseconds: the time of the last head seen, else of the clock. */
  time(): string {
    return this.#time ?? new Date().toISOString();
  }
}
