// One client's subscription: its events come from an execution that it has alone until it has caught up, and then from
// the one that it shares, which sends them past graphql-ws.
import type { ExecutionResult } from "graphql";
import type { Connection } from "./connection.ts";
import { close, type Execution, type Results } from "./execution.ts";
import type { Member } from "./shared-execution.ts";
import type { SharedMessage } from "./shared-message.ts";
import type { SharedOperation } from "./shared-operations.ts";
import type { Progress } from "./subscription.ts";

/** How a subscription that was accepted is over. */
export type Outcome = "ok" | "error";

export interface ClientSubscriptionOptions {
  /** Of the client's messages. */
  id: string;
  client: string;
  connection: Connection;
  operation: SharedOperation;
  /** Of a client that starts with others: where it goes on, or "". */
  cursor?: string;
  /** Called once, when it is over. */
  onOver: (outcome: Outcome) => void;
}

const DONE: IteratorReturnResult<void> = { done: true, value: undefined };

type Joined = PromiseWithResolvers<Progress | "anew" | "over">;

/** graphql-ws asks for each event when the last one is out. */
export class ClientSubscription implements Results, Member {
  readonly #options: ClientSubscriptionOptions;
  /** While it is alone. */
  #alone: Execution | undefined;
  /** While it is not: resolves to where it goes on alone. */
  #joined: Joined | undefined;
  #last: ExecutionResult | undefined;
  #isOver = false;
  #wasQuick: boolean | undefined;

  /** Without an execution it starts with others. */
  constructor(alone: Execution | undefined, options: ClientSubscriptionOptions) {
    this.#alone = alone;
    this.#options = options;
  }

  async next(): Promise<IteratorResult<ExecutionResult, void>> {
    // An event with errors is the last one, because it may lack something: the client goes on from the event before.
    if (this.#last?.errors !== undefined) return this.#end("error");
    // graphql-ws and grafast keep the last result until the next comes, which may take hours.
    if (this.#last !== undefined) this.#last.data = null;
    try {
      while (this.#joins()) await this.#untilAlone();
      if (this.#alone === undefined) return DONE;
      return await this.#nextOf(this.#alone);
    } catch (error) {
      await this.#end("error");
      throw error;
    }
  }

  return(): Promise<IteratorResult<ExecutionResult, void>> {
    return this.#end(this.#last?.errors === undefined ? "ok" : "error");
  }

  async throw(error: unknown): Promise<never> {
    await this.#end("error");
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("ok");
  }

  isOver(): boolean {
    return this.#isOver;
  }

  get client(): string {
    return this.#options.client;
  }

  get isQuick(): boolean | undefined {
    return this.#wasQuick;
  }

  send(message: SharedMessage): boolean {
    return this.#options.connection.sendShared(message, this.#options.id);
  }

  fallBehind(from: Progress | undefined): void {
    this.#joined?.resolve(from ?? "anew");
  }

  end(): void {
    void this.#end("error");
  }

  fail(error: unknown): void {
    this.#joined?.reject(error);
  }

  async #nextOf({ subscription, results }: Execution) {
    await subscription.ask();
    const result = await results.next();
    if (result.done === true) return this.#end("ok");
    this.#last = result.value;
    return result;
  }

  /** From now on it shares the execution of others, if it starts or has caught up. Returns whether it does. */
  #joins(): boolean {
    const { connection, operation, cursor = "" } = this.#options;
    if (this.#isOver) return false;
    if (this.#alone === undefined) {
      operation.start(this, cursor);
      return true;
    }
    const { progress, isQuick } = this.#alone.subscription;
    this.#wasQuick = isQuick;
    if (progress?.change === undefined || connection.isFull) return false;
    operation.join(this, progress);
    return true;
  }

  /** Resolves when it is alone again, or over. */
  async #untilAlone(): Promise<void> {
    const { connection, operation } = this.#options;
    this.#joined = Promise.withResolvers();
    const { promise } = this.#joined;
    if (this.#alone !== undefined) void close(this.#alone);
    this.#alone = this.#last = undefined;
    const from = await promise;
    this.#joined = undefined;
    if (from === "over") return;
    await connection.drained();
    if (from === "anew" || this.isOver()) return;
    const alone = await operation.resume(this, from, connection);
    // It may have ended by now.
    if (this.isOver()) await close(alone);
    else this.#alone = alone;
  }

  async #end(outcome: Outcome): Promise<IteratorReturnResult<void>> {
    const { operation, onOver } = this.#options;
    if (this.#isOver) return DONE;
    this.#isOver = true;
    const alone = this.#alone;
    this.#alone = undefined;
    this.#joined?.resolve("over");
    operation.leave(this);
    operation.exit();
    onOver(outcome);
    if (alone !== undefined) await close(alone);
    return DONE;
  }
}
