// Bounds how many GraphQL operations are in flight, of each client and in all, and gives them turns to be planned. Those that
// would be too many are refused before their body is read.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PooledClient } from "../../db/connection-types.ts";
import { ServiceBusy, TooManyAtOnce, type ClientFacingError } from "../../http/errors.ts";
import type { Refuse } from "../../http/refusal.ts";
import { stateIn, stateOf, type Step } from "../../http/request.ts";
import type { PersistedDocuments } from "../persisted/documents.ts";
import { asksByUrl } from "../persisted/gets.ts";
import { parseBody } from "./body.ts";
import type { InFlightLimits } from "./limits.ts";
import { makeLateRefusals } from "./late-refusals.ts";
import { PlanningPauses } from "./planning-pauses.ts";
import { WaitingLine, WaitingTime, type Waiting } from "./waiting-line.ts";
import { withinTime } from "./connection-waits.ts";

export class OperationsInFlight {
  readonly #limits: InFlightLimits & { running: number };
  readonly #runningOfClient: number;
  readonly #maxWhole: number;
  // Created once, because the stack of an error takes a good part of a refusal's time.
  readonly #busy = new ServiceBusy();
  readonly #tooMany: TooManyAtOnce;
  readonly #operation = new AsyncLocalStorage<{ isOver: boolean; time?: WaitingTime }>();
  readonly #ofClient = new Map<string, number>();
  readonly #runningOf = new Map<string, number>();
  /** Of subscriptions whose client is at its limit. They are not in flight yet. */
  readonly #toBeCounted: WaitingLine;
  readonly #toBegin: WaitingLine;
  readonly #toPlan: WaitingLine;
  readonly #toReadWhole: WaitingLine;
  readonly #wholeOf = new Map<string, number>();
  #readingWhole = 0;
  #inFlight = 0;
  #running = 0;
  /** How many wait in a line: mostly none, and then no line is looked at. */
  #waits = 0;
  #hasBegunInThisTurn = false;
  readonly #pauses = new PlanningPauses((client) => {
    this.#toPlan.endTurnOf(client);
    this.#beginNext();
  });

  /** Of `connections`, one client uses all but one, unless it may have any number of operations. */
  constructor({ connections, ...limits }: InFlightLimits & { connections: number }) {
    // Some wait for the database while others are planned or serialized.
    this.#limits = { ...limits, running: 2 * connections };
    this.#runningOfClient = limits.perClient === 0 ? Infinity : Math.max(1, connections - 1);
    this.#tooMany = new TooManyAtOnce(limits.perClient);
    this.#toBeCounted = new WaitingLine({
      has: () => 0,
      may: (client) => !this.#isAtLimit(client),
      take: (client) => add(this.#ofClient, client, 1),
    });
    const mayAll = { may: () => true, take: () => undefined };
    this.#toBegin = new WaitingLine({ has: this.#countRunning, ...mayAll });
    this.#toPlan = new WaitingLine({
      // What no client alone asks for is first.
      has: (client) => (client === "" ? 0 : 1),
      may: () => this.#pauses.mayPlan,
      take: () => this.#pauses.begin(),
    });
    this.#toReadWhole = new WaitingLine({
      has: this.#countWhole,
      may: this.#mayReadWhole,
      take: (client) => {
        this.#readingWhole += 1;
        add(this.#wholeOf, client, 1);
      },
    });
    this.#maxWhole = Math.max(1, Math.floor(connections / 2));
  }

  /** Returns why the next operation of this client would be refused; undefined if it is accepted. */
  refusal(client: string): ClientFacingError | undefined {
    if (this.#isFull) return this.#busy;
    return this.#isAtLimit(client) ? this.#tooMany : undefined;
  }

  /** Runs an operation in its turn. It holds its place until it ends, also if its client is gone: the database may still work. */
  async run<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    const refused = this.refusal(client);
    if (refused !== undefined) throw refused;
    add(this.#ofClient, client, 1);
    return await this.#inTime(() => this.#run(client, operation));
  }

  /** The same for a subscription that begins: it waits while its client is at its limit. Other limits bound how many wait. */
  async inTurn<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    return await this.#inTime(async () => {
      const isCounted = this.#toBeCounted.takeNow(client, this.#hasPlaceFor);
      if (!isCounted) await this.#wait(client, this.#toBeCounted, false);
      return await this.#run(client, operation);
    });
  }

  async #inTime<Result>(act: () => Promise<Result>): Promise<Result> {
    const operation = { isOver: false };
    return await this.#operation.run(operation, act).finally(() => (operation.isOver = true));
  }

  /** What the operation that runs may still wait. What no client asks for is part of none, also where one has caused it. */
  #timeOf(client?: string): WaitingTime {
    const operation = client === "" ? undefined : this.#operation.getStore();
    const time = operation?.time ?? new WaitingTime(this.#limits.waitMs);
    if (operation?.isOver === false) operation.time = time;
    return time;
  }

  /** The pool, whose connections an operation gets within its time: the wait in its queue counts as those for turns. */
  connectionsOf(pool: Pool): Pool {
    const connect = (): Promise<PooledClient> => {
      const isFree = pool.idleCount > 0 || pool.totalCount < pool.options.max;
      return isFree ? pool.connect() : withinTime(pool.connect(), this.#timeOf());
    };
    return Object.create(pool, { connect: { value: connect } }) as Pool;
  }

  /** Runs what is counted for its client. */
  async #run<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    const isTooMany = this.#isFull;
    this.#inFlight += 1;
    try {
      if (isTooMany) throw this.#busy;
      if (!this.#hasBegunInThisTurn && this.#hasPlaceFor(client)) this.#begin(client);
      else await this.#wait(client, this.#toBegin);
      try {
        return await operation();
      } finally {
        this.#leave(client);
      }
    } finally {
      this.#inFlight -= 1;
      add(this.#ofClient, client, -1);
      if (this.#waits > 0) this.#toBeCounted.first(this.#hasPlaceFor)?.begin();
    }
  }

  /**
   * Calls `planning` in its turn. It plans synchronously, or calls its argument with how long that took. What waits for its
   * plan leaves its place to what has one. What has a turn to read whole tables keeps its place: if it waited for another one,
   * it would keep that turn from others.
   */
  async plan<Result>(
    client: string,
    planning: (onPlanned: (ms?: number) => void) => Result,
    { leavesPlace = true, isLate = false } = {},
  ): Promise<Awaited<Result>> {
    await this.#inLine(client, this.#toPlan, leavesPlace);
    const endTurn = this.#pauses.endLater(client);
    const from = performance.now();
    const result = (async () => await planning(endTurn))();
    if (!isLate) endTurn(performance.now() - from);
    return await result.finally(endTurn);
  }

  /**
   * Runs what may read whole tables, in its turn: such operations of all clients together leave half of the connections to
   * those that an index serves, and one client leaves one of the others. While it waits, it leaves its place to others.
   */
  async readWhole<Result>(client: string, operation: () => Result): Promise<Awaited<Result>> {
    await this.#inLine(client, this.#toReadWhole);
    try {
      return await operation();
    } finally {
      this.#readingWhole -= 1;
      add(this.#wholeOf, client, -1);
      this.#toReadWhole.endTurnOf(client);
      this.#beginNext();
    }
  }

  /** Returns when it is an operation's turn. If it leaves its place to wait, the turn comes together with another place. */
  async #inLine(client: string, line: WaitingLine, leavesPlace = true): Promise<void> {
    if (line.takeNow(client, this.#hasPlaceFor)) return;
    if (leavesPlace) this.#leave(client);
    try {
      await this.#wait(client, line, leavesPlace);
    } catch (error) {
      // What is refused leaves a place when it ends, as all do.
      if (leavesPlace) this.#enter(client);
      throw error;
    }
  }

  async #wait(client: string, line: WaitingLine, needsPlace = true): Promise<void> {
    // What is not counted yet is behind those that are.
    const isBehindOwn = line === this.#toBeCounted || this.#countOf(client) > 1;
    this.#waits += 1;
    const waits = line.wait({ client, needsPlace }, { isBehindOwn, time: this.#timeOf(client) });
    await waits.finally(() => (this.#waits -= 1));
  }

  readonly #countWhole = (client: string): number => this.#wholeOf.get(client) ?? 0;

  readonly #mayReadWhole = (client: string): boolean =>
    this.#readingWhole < this.#maxWhole &&
    this.#countWhole(client) < Math.max(1, this.#maxWhole - 1);

  #isAtLimit(client: string): boolean {
    const { perClient } = this.#limits;
    return perClient > 0 && this.#countOf(client) >= perClient;
  }

  get #isFull(): boolean {
    return this.#inFlight >= this.#limits.running + this.#limits.waiting;
  }

  readonly #countOf = (client: string): number => this.#ofClient.get(client) ?? 0;

  readonly #countRunning = (client: string): number => this.#runningOf.get(client) ?? 0;

  readonly #hasPlaceFor = (client: string): boolean =>
    this.#running < this.#limits.running && this.#countRunning(client) < this.#runningOfClient;

  #enter(client: string): void {
    this.#running += 1;
    add(this.#runningOf, client, 1);
  }

  #leave(client: string): void {
    this.#running -= 1;
    add(this.#runningOf, client, -1);
    this.#beginNext();
  }

  #begin(client: string, needsPlace = true): void {
    if (needsPlace) this.#enter(client);
    this.#hasBegunInThisTurn = true;
    setImmediate(() => {
      this.#hasBegunInThisTurn = false;
      this.#beginNext();
    });
  }

  /** Called where a place or a turn may have become free. */
  #beginNext(): void {
    if (this.#hasBegunInThisTurn || this.#waits === 0) return;
    // What needs no place takes none from others, and comes first.
    const rank = ({ client, needsPlace }: Waiting): number =>
      needsPlace ? this.#countRunning(client) : -1;
    const [next] = [this.#toReadWhole, this.#toPlan, this.#toBegin]
      .flatMap((line) => line.first(this.#hasPlaceFor) ?? [])
      .toSorted((a, b) => rank(a) - rank(b));
    if (next === undefined) return;
    this.#begin(next.client, next.needsPlace);
    next.begin();
  }
}

function add(counts: Map<string, number>, client: string, more: number): void {
  const count = (counts.get(client) ?? 0) + more;
  if (count === 0) counts.delete(client);
  else counts.set(client, count);
}

/** The plugin wraps the whole request, parsing included. */
export const makeInFlightPlugin = (
  operations: OperationsInFlight,
  documents?: PersistedDocuments,
): GraphileConfig.Plugin => ({
  name: "InFlightPlugin",
  description: "Bounds how many operations are in flight.",

  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest: { requestContext } }) {
        const state = stateIn(requestContext);
        const req = requestContext.node?.req;
        if (req === undefined || !state?.isForGraphql) return next();
        try {
          return await operations.run(state.client, () => {
            // Not earlier, because a parsed body takes more memory while it waits.
            Object.assign(req, { body: parseBody(state.body ?? Buffer.alloc(0), documents) });
            return next();
          });
        } catch (error) {
          // grafserv prints thrown errors outside the log.
          return { type: "error", statusCode: 503, headers: {}, error: error as Error };
        }
      },
    },
  },
});

/** A step that hands on what may begin, for requests of GraphQL. */
export function shedLoad(operations: OperationsInFlight, refuse: Refuse): Step {
  const refuseLater = makeLateRefusals(refuse);
  return (next) => (req, res) => {
    const state = stateOf(req);
    const isOperation = req.method === "POST" || asksByUrl(req);
    const refusal = isOperation ? operations.refusal(state.client) : undefined;
    if (refusal === undefined) {
      next(req, res);
      return;
    }
    state.isShed = true;
    refuseLater(req, res, refusal);
  };
}
