// Bounds how many GraphQL operations are in flight, of one client and of the process, and for how much of
// the time they are planned: a plan takes the event loop for up to 50 ms, and other requests wait.
import type { IncomingMessage } from "node:http";
import { ServiceBusy, TooManyAtOnce, type ClientFacingError } from "../../http/errors.ts";

export interface InFlightLimits {
  /** Operations of one client, 0 for any number. */
  perClient: number;
  /** Operations that wait until others have ended. */
  waiting: number;
  /** For how long one waits, in milliseconds. */
  waitMs: number;
}

export const IN_FLIGHT_LIMITS: InFlightLimits = { perClient: 0, waiting: 200, waitMs: 5000 };

/** After a plan, no other is made for so many times as long. REST then waits for a plan in one of four cases. */
const PAUSE = 3;

/** A plan that took long by chance, as on a machine that was halted, holds up no others. */
const LONGEST_PAUSE_MS = 250;

/** Operations that wait, the first come first, each for a time. */
class WaitingLine {
  readonly #waiting = new Set<() => void>();
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Resolves when it is this operation's turn; rejects where that takes too long. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(begin);
        reject(new ServiceBusy());
      }, this.#waitMs);
      this.#waiting.add(begin);
    });
  }

  /** Lets the first go on. */
  begin(): void {
    const [first] = this.#waiting;
    first?.();
  }
}

export class OperationsInFlight {
  readonly #limits: InFlightLimits & { running: number };
  // Made once: the stack of each error would be a good part of a refusal.
  readonly #busy = new ServiceBusy();
  readonly #tooMany: TooManyAtOnce;
  readonly #ofClient = new Map<string, number>();
  readonly #toBegin: WaitingLine;
  readonly #toPlan: WaitingLine;
  #inFlight = 0;
  #running = 0;
  #hasBegunInThisTurn = false;
  #mayPlan = true;

  constructor(limits: InFlightLimits & { running: number }) {
    this.#limits = limits;
    this.#tooMany = new TooManyAtOnce(limits.perClient);
    this.#toBegin = new WaitingLine(limits.waitMs);
    this.#toPlan = new WaitingLine(limits.waitMs);
  }

  /** Why the next operation of this client would be refused; undefined where it would not. */
  refusal(client: string): ClientFacingError | undefined {
    const { perClient, running, waiting } = this.#limits;
    if (this.#inFlight >= running + waiting) return this.#busy;
    const ofClient = this.#ofClient.get(client) ?? 0;
    return perClient > 0 && ofClient >= perClient ? this.#tooMany : undefined;
  }

  /**
   * Runs an operation when it is its turn. Its place is free again when the operation has ended, also
   * where its client has gone: the database still works on it.
   */
  async run<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    const refused = this.refusal(client);
    if (refused !== undefined) throw refused;
    this.#inFlight += 1;
    this.#ofClient.set(client, (this.#ofClient.get(client) ?? 0) + 1);
    try {
      if (this.#mayBegin()) this.#begin();
      else await this.#toBegin.wait();
      try {
        return await operation();
      } finally {
        this.#running -= 1;
        this.#beginNext();
      }
    } finally {
      this.#inFlight -= 1;
      const left = (this.#ofClient.get(client) ?? 0) - 1;
      if (left === 0) this.#ofClient.delete(client);
      else this.#ofClient.set(client, left);
    }
  }

  /**
   * Runs what plans an operation before it awaits anything, when it is its turn. An operation that waits
   * for that leaves its place to one that is planned already.
   */
  async plan<Result>(planning: () => Result): Promise<Awaited<Result>> {
    if (!this.#mayPlan) {
      this.#running -= 1;
      this.#beginNext();
      await this.#toPlan.wait().finally(() => (this.#running += 1));
    }
    this.#mayPlan = false;
    const from = performance.now();
    const result = begun(planning);
    this.#pause(performance.now() - from);
    return await result;
  }

  #mayBegin(): boolean {
    return this.#running < this.#limits.running && !this.#hasBegunInThisTurn;
  }

  #begin(): void {
    this.#running += 1;
    this.#hasBegunInThisTurn = true;
    setImmediate(() => {
      this.#hasBegunInThisTurn = false;
      this.#beginNext();
    });
  }

  #beginNext(): void {
    if (this.#toBegin.isEmpty || !this.#mayBegin()) return;
    this.#begin();
    this.#toBegin.begin();
  }

  #pause(ms: number): void {
    setTimeout(
      () => {
        this.#mayPlan = true;
        this.#toPlan.begin();
      },
      Math.min(PAUSE * ms, LONGEST_PAUSE_MS),
    );
  }
}

/** Begins it now; what it throws at once rejects the promise. */
const begun = async <Result>(act: () => Result): Promise<Awaited<Result>> => await act();

/** Makes the plugin, which stands around the parsing of the request too. */
export function makeInFlightPlugin(
  operations: OperationsInFlight,
  clientOf: (req: IncomingMessage) => string,
): GraphileConfig.Plugin {
  return {
    name: "InFlightPlugin",
    version: "1.0.0",
    description: "Bounds how many operations are in flight.",

    grafserv: {
      middleware: {
        async processRequest(next, { requestDigest }) {
          const { path, requestContext } = requestDigest;
          const req = requestContext.expressv4?.req;
          if (path !== "/graphql" || req === undefined) return next();
          try {
            return await operations.run(clientOf(req), next);
          } catch (error) {
            // Thrown, grafserv would print it beside the log.
            return { type: "error", statusCode: 503, headers: {}, error: error as Error };
          }
        },
      },
    },
  };
}
