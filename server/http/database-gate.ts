// Keeps requests from a database until it can be served: it answers, is read as dex_reader, and has
// every migration. A database may be started, or migrated, after the service.
import type { NextFunction, Request, Response } from "express";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseNotReady, DatabaseUnreachable } from "./errors.ts";

/** Why a database cannot be served yet. */
export interface Obstacle {
  kind: "unreachable" | "not ready";
  /** For the operator, in a line; it names no password. */
  line: string;
}

const RETRY_MS = 1000;

/** Once open, it stays so: what befalls the database later, its statements say. */
export class DatabaseGate {
  #obstacle: Obstacle | undefined;
  readonly #opened = Promise.withResolvers<undefined>();

  constructor(obstacle?: Obstacle) {
    this.#obstacle = obstacle;
    if (obstacle === undefined) this.#opened.resolve(undefined);
  }

  /** What stands in the way; undefined once it is open. */
  get obstacle(): Obstacle | undefined {
    return this.#obstacle;
  }

  /** Resolves when it opens; never, where it does not. */
  get opened(): Promise<undefined> {
    return this.#opened.promise;
  }

  /**
   * Looks again every second until nothing stands in the way any more. A changed obstacle is logged as a
   * warning.
   */
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

  /** An Express middleware that lets nobody by until it is open. */
  readonly refuseUntilOpen = (_req: Request, _res: Response, next: NextFunction): void => {
    if (this.#obstacle === undefined) next();
    else if (this.#obstacle.kind === "unreachable") throw new DatabaseUnreachable();
    else throw new DatabaseNotReady();
  };
}
