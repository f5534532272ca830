// How long a client may take to read what waits for it: as long as it goes on taking bytes, within a bound.
import type { Duplex } from "node:stream";

interface Bounds {
  /** Looks in succession without a byte taken. */
  still: number;
  /** Looks in all. */
  all: number;
}

/** What Node keeps of a socket: its own `bytesWritten` counts a large write when it begins. */
interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/** Bytes that the system has taken. */
function takenOf(socket: Duplex | null): number {
  const handle = (socket as { _handle?: Handle | null } | null)?._handle;
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

export class Patience {
  readonly #socket: Duplex | null;
  readonly #bounds: Bounds;
  #taken = 0;
  #still = 0;
  #looks = 0;

  constructor(socket: Duplex | null, bounds: Bounds) {
    this.#socket = socket;
    this.#bounds = bounds;
  }

  /** Begins anew. */
  renew(): void {
    this.#still = this.#looks = 0;
  }

  /** Whether the client may go on; it is looked at regularly. */
  look(): boolean {
    const taken = takenOf(this.#socket);
    this.#still = taken === this.#taken ? this.#still + 1 : 0;
    this.#taken = taken;
    this.#looks += 1;
    return this.#still < this.#bounds.still && this.#looks < this.#bounds.all;
  }
}
