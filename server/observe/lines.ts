// Puts lines together before they are written: to write each alone costs more than to make it.
import type { DestinationStream } from "pino";

/** What lines are written to in the end. */
export interface Sink extends DestinationStream {
  /** Writes at once all that it was given. */
  flushSync: () => void;
}

/** From so many characters on they are written. */
const ENOUGH = 32_768;

/** A line waits no longer than so many milliseconds for others. */
const LONGEST_WAIT_MS = 100;

export class Lines implements DestinationStream {
  readonly #sink: Sink;
  #waiting = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  write(line: string): void {
    this.#waiting += line;
    if (this.#waiting.length >= ENOUGH) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), LONGEST_WAIT_MS);
  }

  /** Writes what has waited, and returns when it is out. */
  flush(): void {
    this.#pass();
    this.#sink.flushSync();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#waiting;
    if (lines === "") return;
    this.#waiting = "";
    this.#sink.write(lines);
  }
}
