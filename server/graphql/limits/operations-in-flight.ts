// Bounds how many GraphQL operations are in flight, of one client and of the process, and begins one in
// each turn of the event loop: planning a large one takes 50 ms, and other requests come in between.
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

interface Waiting {
  begin: () => void;
  timer: NodeJS.Timeout;
}

export class OperationsInFlight {
  readonly #limits: InFlightLimits & { running: number };
  readonly #ofClient = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  #hasBegunInThisTurn = false;

  constructor(limits: InFlightLimits & { running: number }) {
    this.#limits = limits;
  }

  /** Why the next operation of this client would be refused; undefined where it would not. */
  refusal(client: string): ClientFacingError | undefined {
    const { perClient, running, waiting } = this.#limits;
    if (this.#running + this.#waiting.size >= running + waiting) return new ServiceBusy();
    const ofClient = this.#ofClient.get(client) ?? 0;
    return perClient > 0 && ofClient >= perClient ? new TooManyAtOnce(perClient) : undefined;
  }

  /**
   * Runs an operation when it is its turn. Its place is free again when the operation has ended, also
   * where its client has gone: the database still works on it.
   */
  async run<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    const refused = this.refusal(client);
    if (refused !== undefined) throw refused;
    this.#ofClient.set(client, (this.#ofClient.get(client) ?? 0) + 1);
    try {
      await this.#turn();
      try {
        return await operation();
      } finally {
        this.#running -= 1;
        this.#beginNext();
      }
    } finally {
      const left = (this.#ofClient.get(client) ?? 0) - 1;
      if (left === 0) this.#ofClient.delete(client);
      else this.#ofClient.set(client, left);
    }
  }

  #turn(): Promise<void> | undefined {
    if (this.#mayBegin()) {
      this.#begin();
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(one);
        reject(new ServiceBusy());
      }, this.#limits.waitMs);
      const one: Waiting = { begin: resolve, timer };
      this.#waiting.add(one);
    });
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
    const [first] = this.#waiting;
    if (first === undefined || !this.#mayBegin()) return;
    this.#waiting.delete(first);
    clearTimeout(first.timer);
    this.#begin();
    first.begin();
  }
}

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
