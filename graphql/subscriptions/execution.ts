// Begins an execution of a subscription's operation in grafast: events are read, planned and resolved one by one.
import type { ExecutionResult } from "graphql";
import { isAsyncIterable, subscribe, type GrafastExecutionArgs } from "postgraphile/grafast";
import type { Subscription } from "./subscription.ts";

export type Results = AsyncGenerator<ExecutionResult, void, void>;

export interface Execution {
  subscription: Subscription;
  results: Results;
}

/** Has the operation read its events and its database from the subscription. */
export function readFrom(args: GrafastExecutionArgs, subscription: Subscription): void {
  const { withPgClient } = subscription;
  Object.assign(args.contextValue as Grafast.Context, { subscription, withPgClient });
  endlessly(args);
}

/** Begins another execution of an operation that was accepted, for no request. */
export async function begin(
  args: GrafastExecutionArgs,
  subscription: Subscription,
): Promise<Results> {
  const contextValue = { ...(args.contextValue as Grafast.Context) };
  const own = { ...args, contextValue };
  readFrom(own, subscription);
  const results = await subscribe(own);
  if (isAsyncIterable(results)) return results as Results;
  throw results.errors?.[0] ?? new Error("an accepted subscription gives no events");
}

/** Ends an execution. */
export async function close({ subscription, results }: Execution): Promise<void> {
  subscription.close();
  await results.return();
}

/** The time limit is that of a query: it would end a subscription. Each statement has its own. */
function endlessly(args: GrafastExecutionArgs): void {
  const { resolvedPreset } = args;
  if (resolvedPreset === undefined) return;
  const { grafast } = resolvedPreset;
  const { execution: _ofQueries, ...timeouts } = grafast?.timeouts ?? {};
  args.resolvedPreset = { ...resolvedPreset, grafast: { ...grafast, timeouts } };
}
