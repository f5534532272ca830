// One execution for the clients of one operation that have the same: each event is executed and made text once.
import type { ExecutionResult, GraphQLError } from "graphql";
import type { LoopShare } from "../../http/streams/loop-share.ts";
import { isSameLine } from "../../market/live/changes.ts";
import { SharedMessage } from "./shared-message.ts";
import {
  Subscription,
  type Flow,
  type Progress,
  type SubscriptionOptions,
} from "./subscription.ts";
import type { Results } from "./execution.ts";

export interface Member {
  readonly client: string;
  /** Whether its events were quick when it was alone. */
  readonly isQuick: boolean | undefined;
  /** Sends the message; false if too much waits for the client. */
  send: (message: SharedMessage) => boolean;
  /** It goes on alone from here, without the message that it did not take; undefined where it has nothing yet. */
  fallBehind: (from: Progress | undefined) => void;
  /** The message that it has got is the last one, because it has errors. */
  end: () => void;
  /** The execution has failed. */
  fail: (error: unknown) => void;
}

export interface SharedExecutionOptions extends Pick<
  SubscriptionOptions,
  "rounds" | "lag" | "pool" | "isQuick" | "complexity"
> {
  /** What the members have; undefined where they begin. */
  from: Progress | undefined;
  /** The cursor of members that begin or come back, "" without one; undefined for members that have caught up. */
  start?: string;
  begin: (subscription: Subscription) => Promise<Results>;
  /** Makes an error that a client may see. */
  maskError: (error: GraphQLError) => GraphQLError;
  /** Gives the messages their turns. */
  share: Pick<LoopShare, "run">;
  /** All members have the same again: others may have it too. */
  onStage: () => void;
  /** There are no members any more. */
  onEmpty: () => void;
}

/** Members that have the same. */
interface Stage {
  progress: Progress | undefined;
  members: Set<Member>;
}

/** Members that get a message in one turn: some milliseconds. */
const MEMBERS_AT_ONCE = 250;

/** No single client delays the others. */
const FOR_ALL: Flow = {
  isFull: false,
  drained: () => Promise.resolve(),
  alone: () => Promise.resolve(() => undefined),
};

export class SharedExecution {
  readonly #options: SharedExecutionOptions;
  readonly #subscription: Subscription;
  /** Those that have all that was read. */
  #present: Stage;
  /** Those that lack the event in flight. */
  #before: Stage;
  #hasRead = false;

  constructor(options: SharedExecutionOptions) {
    this.#options = options;
    const { rounds, lag, pool, from, isQuick, complexity } = options;
    this.#present = { progress: from, members: new Set() };
    this.#before = { progress: from, members: new Set() };
    const onStep = this.#step.bind(this);
    const flow = FOR_ALL;
    this.#subscription = new Subscription({
      rounds,
      client: () => this.#client(),
      isQuick,
      complexity,
      lag,
      pool,
      flow,
      onStep,
      from: from ?? "head",
    });
  }

  /** Returns when no subscription follows any more, or after a failure. */
  async run(): Promise<void> {
    let results: Results | undefined;
    try {
      results = await this.#options.begin(this.#subscription);
      for (;;) {
        await this.#subscription.ask();
        const { done, value } = await results.next();
        if (done === true) return;
        await this.#send(value);
        if (value.errors !== undefined) break;
        this.#options.onStage();
      }
      // What they have is of executions without errors.
      for (const member of this.#take()) member.fallBehind(this.#present.progress);
    } catch (error) {
      for (const member of this.#take()) member.fail(error);
    } finally {
      this.#subscription.close();
      await results?.return();
    }
  }

  /** Has the member get what others get, if it has what they have. */
  join(member: Member, progress: Progress): boolean {
    const stage = this.#stageOf(progress);
    stage?.members.add(member);
    return stage !== undefined;
  }

  /** Has the member begin with others, if these have the same cursor and nothing was read for them yet. */
  joinStart(member: Member, start: string): boolean {
    if (this.#hasRead || this.#options.start !== start) return false;
    this.#present.members.add(member);
    return true;
  }

  /** Leaves all members to the other execution, if these have what others have there. */
  mergeInto(other: SharedExecution): boolean {
    const { progress, members } = this.#present;
    const stage = progress && other.#stageOf(progress);
    if (stage === undefined) return false;
    for (const member of members) stage.members.add(member);
    members.clear();
    this.#endIfEmpty();
    return true;
  }

  #stageOf({ line, change }: Progress): Stage | undefined {
    if (change === undefined) return undefined;
    const isInFlight = this.#before.members.size > 0;
    return [this.#present, ...(isInFlight ? [this.#before] : [])].find(
      ({ progress }) => progress?.change !== undefined && isSameLine(progress.line, line),
    );
  }

  /** Of all members; undefined where they are several clients'. */
  #client(): string | undefined {
    let client: string | undefined;
    for (const stage of [this.#present, this.#before]) {
      for (const member of stage.members) {
        if (client !== undefined && member.client !== client) return undefined;
        client = member.client;
      }
    }
    return client;
  }

  leave(member: Member): void {
    this.#present.members.delete(member);
    this.#before.members.delete(member);
    this.#endIfEmpty();
  }

  #endIfEmpty(): void {
    if (this.#present.members.size + this.#before.members.size > 0) return;
    this.#subscription.close();
    this.#options.onEmpty();
  }

  #step(progress: Progress, hasEvent: boolean): void {
    this.#hasRead = true;
    if (hasEvent) {
      this.#before = this.#present;
      this.#present = { progress, members: new Set() };
      return;
    }
    this.#present.progress = progress;
    this.#options.onStage();
  }

  async #send({ errors, ...others }: ExecutionResult): Promise<void> {
    const { share, maskError } = this.#options;
    const masked = errors && { errors: errors.map(maskError) };
    const message = new SharedMessage(JSON.stringify({ ...others, ...masked }));
    while (this.#before.members.size > 0) {
      await share.run(() => {
        this.#sendToSome(message, errors !== undefined);
        return Promise.resolve();
      });
    }
  }

  #sendToSome(message: SharedMessage, isLast: boolean): void {
    const { members, progress } = this.#before;
    let left = MEMBERS_AT_ONCE;
    for (const member of members) {
      if (left === 0) break;
      left -= 1;
      members.delete(member);
      if (!member.send(message)) member.fallBehind(progress);
      else if (isLast) member.end();
      else this.#present.members.add(member);
    }
    this.#endIfEmpty();
  }

  /** Takes all members out. */
  #take(): Member[] {
    const members = [...this.#present.members, ...this.#before.members];
    this.#present.members.clear();
    this.#before.members.clear();
    this.#endIfEmpty();
    return members;
  }
}
