// What the service knows of its database: whether it can be served, and the head that was seen last.
import type { NextFunction, Request, Response } from "express";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseNotReady, DatabaseUnreachable, type ClientFacingError } from "./errors.ts";

export interface Obstacle {
  kind: "unreachable" | "not ready";
  /** For the log; without a password. */
  line: string;
}

const RETRY_MS = 1000;

/**
 * Refuses requests until the database can be served: it may be started, or migrated, after the service.
 * Once open, it stays open: later failures are those of statements.
 */
export class DatabaseGate {
  #obstacle: Obstacle | undefined;
  readonly #opened = Promise.withResolvers<undefined>();

  constructor(obstacle?: Obstacle) {
    this.#obstacle = obstacle;
    if (obstacle === undefined) this.#opened.resolve(undefined);
  }

  /** Undefined once it is open. */
  get obstacle(): Obstacle | undefined {
    return this.#obstacle;
  }

  get opened(): Promise<undefined> {
    return this.#opened.promise;
  }

  /** Looks every second until there is no obstacle. A changed obstacle is a warning. */
  async openWhenClear(
    look: () => Promise<Obstacle | undefined>,
    signal: AbortSignal,
    log: Record<"info" | "warn", (line: string) => void>,
  ): Promise<void> {
    while (this.#obstacle !== undefined && !signal.aborted) {
      const before = this.#obstacle.line;
      this.#obstacle = await look();
      if (this.#obstacle === undefined)
        log.info("The database is there: it is served from now on.");
      else if (this.#obstacle.line !== before) log.warn(this.#obstacle.line);
      if (this.#obstacle === undefined) this.#opened.resolve(undefined);
      else await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Why nothing is served; undefined once it is open. */
  get refusal(): ClientFacingError | undefined {
    if (this.#obstacle === undefined) return undefined;
    const isUnreachable = this.#obstacle.kind === "unreachable";
    return isUnreachable ? new DatabaseUnreachable() : new DatabaseNotReady();
  }

  /** An Express middleware. */
  readonly refuseUntilOpen = (_req: Request, _res: Response, next: NextFunction): void =>
    next(this.refusal);
}

interface Moment {
  time: string;
  /** Null if the moment is the database's clock. */
  block: number | null;
}

/** For the answers that read nothing from the database. */
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
