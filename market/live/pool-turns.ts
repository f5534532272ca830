// Bounds what streams read on REST's connections: few readings at once, a client after the other.
import { ClientLines } from "../../db/client-lines.ts";

const READINGS_AT_ONCE = 2;

export class PoolTurns {
  readonly #waiting = new ClientLines<string | symbol, PromiseWithResolvers<undefined>>();
  #running = 0;

  /** Reads when it is the client's turn. */
  async run<Result>(client: string | undefined, read: () => Promise<Result>): Promise<Result> {
    if (this.#running < READINGS_AT_ONCE) this.#running += 1;
    else await this.#turn(client);
    try {
      return await read();
    } finally {
      this.#endTurn();
    }
  }

  #turn(client: string | undefined): Promise<undefined> {
    const turn = Promise.withResolvers<undefined>();
    // Each without a client is for itself.
    this.#waiting.add(client ?? Symbol(), turn);
    return turn.promise;
  }

  #endTurn(): void {
    for (const [client, [next]] of this.#waiting) {
      if (next === undefined) continue;
      this.#waiting.remove(client, next);
      this.#waiting.putLast(client);
      next.resolve(undefined);
      return;
    }
    this.#running -= 1;
  }
}
