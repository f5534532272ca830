// Bounds the share of time that planning takes: a plan blocks the event loop for up to 50 ms, and a pause is behind each.

/** After a plan, planning pauses for this multiple of its time, so that a plan blocks one REST request in four. */
const PAUSE = 3;

/** A plan that took long by chance, for example on a halted machine, does not delay others. */
const LONGEST_PAUSE_MS = 250;

/** Of all pauses that follow each other: what waits behind them is refused after some seconds. */
const LONGEST_PAUSES_MS = 4 * LONGEST_PAUSE_MS;

/** What is planned later than its turn begins has the turn for so long: what it waits for may take longer. */
const LONGEST_TURN_MS = 50;

export class PlanningPauses {
  /** Turns, and pauses behind others. */
  #count = 0;
  #lastEnds = 0;
  readonly #onEnd: (client: string) => void;

  /** `onEnd` is called behind each pause. */
  constructor(onEnd: (client: string) => void) {
    this.#onEnd = onEnd;
  }

  get mayPlan(): boolean {
    return this.#count === 0;
  }

  begin(): void {
    this.#count += 1;
  }

  /** Ends a turn in which planning took so long. The pauses follow each other. */
  end(client: string, ms: number): void {
    const now = performance.now();
    const ends = Math.max(now, this.#lastEnds) + Math.min(PAUSE * ms, LONGEST_PAUSE_MS);
    this.#lastEnds = Math.min(ends, now + LONGEST_PAUSES_MS);
    setTimeout(() => {
      this.#count -= 1;
      this.#onEnd(client);
    }, this.#lastEnds - now);
  }

  /**
   * Ends a turn when the returned function is called with how long planning took, or without, since none was needed.
   * What is planned when its turn has ended has another pause.
   */
  endLater(client: string): (ms?: number) => void {
    let isOver = false;
    const end = (ms = 0): void => {
      clearTimeout(timer);
      if (isOver && ms === 0) return;
      if (isOver) this.begin();
      isOver = true;
      this.end(client, ms);
    };
    const timer = setTimeout(end, LONGEST_TURN_MS);
    return end;
  }
}
