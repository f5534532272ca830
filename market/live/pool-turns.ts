// Bounds what streams read on REST's connections: few readings at once, a client after the other.
import { ClientTurns } from "./client-turns.ts";

const READINGS_AT_ONCE = 2;

export class PoolTurns {
  readonly #waiting = new ClientTurns<PromiseWithResolvers<undefined>>();
  #running = 0;

  /** Reads when it is the client's turn. */
  async run<Result>(client: string | undefined, read: () => Promise<Result>): Promise<Result> {
    if (this.#running < READINGS_AT_ONCE) this.#running += 1;
    else await this.#turn(client);
    try {
      return await read();
    } finally {
      const next = this.#waiting.take();
      if (next === undefined) this.#running -= 1;
      else next.resolve(undefined);
    }
  }

  #turn(client: string | undefined): Promise<undefined> {
    const turn = Promise.withResolvers<undefined>();
    this.#waiting.add(turn, client);
    return turn.promise;
  }
}
