// The head as the service last saw it, for the answers that read nothing from the database.

export class LastHead {
  #time: string | undefined;

  /** Remembers the moment of a snapshot, if that is a head. */
  see({ time, isHead }: { time: string; isHead: boolean }): void {
    this.#time = isHead ? time : undefined;
  }

  /** ISO 8601 UTC with milliseconds: the time of the last head seen, else of the clock. */
  time(): string {
    return this.#time ?? new Date().toISOString();
  }
}
