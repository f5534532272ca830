// Puts lines together before they are written: to write each alone costs more than to make it.
import type { DestinationStream } from "pino";
import type { Observation } from "./observation.ts";
import { requestLine } from "./request-line.ts";

/** What lines are written to in the end. */
export interface Sink extends DestinationStream {
  /** Writes at once all that it was given. */
  flushSync: () => void;
}

/** From so many characters on they are written. */
const ENOUGH = 32_768;

/** So many requests wait for their lines: made one after the other, they take less time. */
const MOST_REQUESTS = 128;

/** A line waits no longer than so many milliseconds for others. */
const LONGEST_WAIT_MS = 100;

export class Lines implements DestinationStream {
  readonly #sink: Sink;
  #waiting = "";
  /** Requests whose lines come after what waits. */
  #requests: Observation[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  write(line: string): void {
    this.#makeLines();
    this.#waiting += line;
    this.#passLater();
  }

  /** Writes the line of a request that is over. */
  writeRequest(observation: Observation): void {
    this.#requests.push(observation);
    if (this.#requests.length === MOST_REQUESTS) this.#makeLines();
    this.#passLater();
  }

  /** Writes what has waited, and returns when it is out. */
  flush(): void {
    this.#pass();
    this.#sink.flushSync();
  }

  #makeLines(): void {
    if (this.#requests.length === 0) return;
    for (const observation of this.#requests) this.#waiting += requestLine(observation);
    this.#requests = [];
  }

  #passLater(): void {
    if (this.#waiting.length >= ENOUGH) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), LONGEST_WAIT_MS);
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#makeLines();
    const lines = this.#waiting;
    if (lines === "") return;
    this.#waiting = "";
    this.#sink.write(lines);
  }
}
