// Bounds how many GraphQL operations are in flight, for each client and for the process, and the share of
// the time that planning takes: a plan blocks the event loop for up to 50 ms.
import type { IncomingMessage } from "node:http";
import { ServiceBusy, TooManyAtOnce, type ClientFacingError } from "../../http/errors.ts";
import { parseBody } from "./body.ts";

export interface InFlightLimits {
  /** Operations of one client, 0 for any number. */
  perClient: number;
  /** Operations that wait until others end. */
  waiting: number;
  /** How long an operation waits at most, in milliseconds. */
  waitMs: number;
}

export const IN_FLIGHT_LIMITS: InFlightLimits = { perClient: 0, waiting: 200, waitMs: 5000 };

/** After a plan, planning pauses for this multiple of its time, so that a plan blocks one REST request in four. */
const PAUSE = 3;

/** A plan that took long by chance, for example on a halted machine, does not delay others. */
const LONGEST_PAUSE_MS = 250;

/** A queue of operations, each of which waits for a limited time. */
class WaitingLine {
  readonly #waiting = new Set<() => void>();
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Resolves when it is this operation's turn; rejects if that takes too long. */
  async wait(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const begin = (): void => resolve(undefined);
    const timer = setTimeout(() => {
      this.#waiting.delete(begin);
      reject(new ServiceBusy());
    }, this.#waitMs);
    this.#waiting.add(begin);
    await promise.finally(() => clearTimeout(timer));
  }

  /** Ends the wait of the first operation. */
  begin(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    first();
  }
}

export class OperationsInFlight {
  readonly #limits: InFlightLimits & { running: number };
  // Created once, because the stack of an error takes a good part of a refusal's time.
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

  /** Returns why the next operation of this client would be refused; undefined if it is accepted. */
  refusal(client: string): ClientFacingError | undefined {
    const { perClient, running, waiting } = this.#limits;
    if (this.#inFlight >= running + waiting) return this.#busy;
    const ofClient = this.#ofClient.get(client) ?? 0;
    return perClient > 0 && ofClient >= perClient ? this.#tooMany : undefined;
  }

  /**
   * Runs an operation when it is its turn. It holds its place until it ends, even if its client is gone:
   * the database still works on it.
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
   * Calls `planning`, which plans synchronously, when it is its turn. An operation that waits for its plan
   * leaves its place to one that has a plan.
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

/** Calls a function now; an exception rejects the promise. */
const begun = async <Result>(act: () => Result): Promise<Awaited<Result>> => await act();

/** The plugin wraps the whole request, parsing included. */
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
            return await operations.run(clientOf(req), () => {
              // Not earlier, because a parsed body takes more memory while it waits.
              req.body = parseBody(req.body as Buffer);
              return next();
            });
          } catch (error) {
            // grafserv prints thrown errors outside the log.
            return { type: "error", statusCode: 503, headers: {}, error: error as Error };
          }
        },
      },
    },
  };
}
