// The head as the service last saw it, for the answers that read nothing from the database.

interface Moment {
  time: string;
  isHead: boolean;
}

export class LastHead {
  #time: string | undefined;

  /** Remembers the moment of a snapshot if that is a head, and returns the snapshot. */
  see<Snapshot extends Moment>(snapshot: Snapshot): Snapshot {
    this.#time = snapshot.isHead ? snapshot.time : undefined;
    return snapshot;
  }

  /** ISO 8601 UTC with milliseconds: the time of the last head seen, else of the clock. */
  time(): string {
    return this.#time ?? new Date().toISOString();
  }
}
