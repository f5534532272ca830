// Runs subscriptions: admits them, and gives each one its reader and its snapshots.
import { GraphQLError, type ExecutionResult } from "graphql";
import type { IncomingMessage } from "node:http";
import { isAsyncIterable, type GrafastExecutionArgs } from "postgraphile/grafast";
import { ClientFacingError } from "../../http/errors.ts";
import type { OpenStreams } from "../../http/live/open-streams.ts";
import type { OperationsInFlight } from "../limits/operations-in-flight.ts";
import type { Connection } from "./connection.ts";
import type { Rounds } from "./rounds.ts";
import { Subscription, type Lag } from "./subscription.ts";

/** How a subscription is over. */
export const OUTCOMES = ["ok", "error", "refused"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface LiveOperationsOptions {
  rounds: Rounds;
  lag: Lag;
  open: OpenStreams;
  operations: OperationsInFlight;
  clientOf: (req: IncomingMessage) => string;
  connectionOf: (socket: object) => Connection;
  onOver: (outcome: Outcome) => void;
}

type Results = AsyncGenerator<ExecutionResult, void, void>;

export function makeLiveOperationsPlugin(options: LiveOperationsOptions): GraphileConfig.Plugin {
  const { rounds, lag, open, operations, clientOf, connectionOf, onOver } = options;

  return {
    name: "LiveOperationsPlugin",
    version: "1.0.0",
    description: "Runs subscriptions within the limits.",
    // Only what is accepted takes a place, and only what has one is planned.
    after: ["OperationLimitsPlugin"],
    before: ["PlansPlugin"],

    grafast: {
      middleware: {
        async subscribe(next, { args }) {
          const { socket, request } = args.requestContext?.ws ?? {};
          if (socket === undefined || request === undefined) return next();
          const connection = connectionOf(socket);
          const client = clientOf(request);
          let leave: (() => void) | undefined;
          let subscription: Subscription | undefined;
          const end = (outcome: Outcome): void => {
            if (leave === undefined) return;
            leave();
            leave = undefined;
            subscription?.close();
            onOver(outcome);
          };
          try {
            const given = [open.admit(client), connection.addSubscription()];
            leave = () => given.forEach((giveBack) => giveBack());
            subscription = new Subscription(rounds, lag, connection);
            const { withPgClient } = subscription;
            Object.assign(args.contextValue as Grafast.Context, { subscription, withPgClient });
            endlessly(args);
            const result = await operations.run(client, next);
            if (!isAsyncIterable(result)) {
              end("refused");
              return result;
            }
            return delivered(result as Results, subscription, end);
          } catch (error) {
            if (leave === undefined) onOver("refused");
            end("refused");
            if (!(error instanceof ClientFacingError)) throw error;
            return { errors: [new GraphQLError(error.message, { extensions: error.extensions })] };
          }
        },
      },
    },
  };
}

/** The time limit is that of a query: it would end a subscription. Each statement has its own. */
function endlessly(args: GrafastExecutionArgs): void {
  const { resolvedPreset } = args;
  if (resolvedPreset === undefined) return;
  const { grafast } = resolvedPreset;
  const { execution: _ofQueries, ...timeouts } = grafast?.timeouts ?? {};
  args.resolvedPreset = { ...resolvedPreset, grafast: { ...grafast, timeouts } };
}

/**
 * The events as the client takes them: the next one is read when the last one is out. An event with errors is the
 * last one, because it may lack something: the client goes on from the event before.
 */
function delivered(
  results: Results,
  subscription: Subscription,
  end: (outcome: Outcome) => void,
): Results {
  let hasFailed = false;
  let last: ExecutionResult | undefined;
  const over = async (outcome: Outcome): Promise<IteratorReturnResult<void>> => {
    end(outcome);
    await results.return();
    return { done: true, value: undefined };
  };
  return {
    async next() {
      if (hasFailed) return over("error");
      // graphql-ws and grafast keep the last result until the next comes, which may take hours.
      if (last !== undefined) last.data = null;
      await subscription.ask();
      try {
        const result = await results.next();
        if (result.done === true) {
          end("ok");
          return result;
        }
        last = result.value;
        hasFailed = last.errors !== undefined;
        return result;
      } catch (error) {
        end("error");
        throw error;
      }
    },
    return: () => over(hasFailed ? "error" : "ok"),
    async throw(error) {
      end("error");
      return results.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await over("ok");
    },
  };
}
