// Runs subscriptions: admits them, and gives each one its reader and its snapshots.
import { GraphQLError } from "graphql";
import type { IncomingMessage } from "node:http";
import type { Pool } from "../../db/connect.ts";
import { isAsyncIterable } from "postgraphile/grafast";
import { ClientFacingError } from "../../http/errors.ts";
import type { LoopShare } from "../../http/streams/loop-share.ts";
import type { OpenStreams } from "../../http/streams/open-streams.ts";
import type { Rounds } from "../../market/live/rounds.ts";
import type { OperationsInFlight } from "../limits/operations-in-flight.ts";
import { ClientSubscription, type Outcome } from "./client-subscription.ts";
import type { Connection } from "./connection.ts";
import { readFrom, type Results } from "./execution.ts";
import type { LiveSnapshot } from "./live-snapshot.ts";
import { cursorOf, SharedOperations, type SharedOperation } from "./shared-operations.ts";
import { Subscription, type Lag } from "./subscription.ts";

declare global {
  namespace Grafast {
    interface Context {
      /** The id of a subscription's messages. */
      messageId?: string;
    }
  }
}

export interface LiveOperationsOptions {
  rounds: Rounds<LiveSnapshot>;
  /** Reads the places of clients that begin behind a block. */
  pool: Pool;
  lag: Lag;
  /** Gives the messages that clients share their turns. */
  share: LoopShare;
  open: OpenStreams;
  operations: OperationsInFlight;
  clientOf: (req: IncomingMessage) => string;
  connectionOf: (socket: object) => Connection;
  onOpen: () => void;
  /** Only of what was opened. */
  onOver: (outcome: Outcome) => void;
}

export function makeLiveOperationsPlugin(options: LiveOperationsOptions): GraphileConfig.Plugin {
  const { rounds, pool, lag, share, open, operations, clientOf, connectionOf } = options;
  const shared = new SharedOperations({ rounds, pool, lag, share });

  return {
    name: "LiveOperationsPlugin",
    description: "Runs subscriptions within the limits.",

    grafast: {
      middleware: {
        subscribe: {
          // Only what is accepted takes a place, and only what has one is planned.
          after: ["OperationLimitsPlugin"],
          before: ["PlansPlugin"],
          async callback(next, { args }) {
            const { socket, request } = args.requestContext?.ws ?? {};
            if (socket === undefined || request === undefined) return next();
            const connection = connectionOf(socket);
            const client = clientOf(request);
            const { messageId: id = "", assessment } = args.contextValue as Grafast.Context;
            const givesBack: (() => void)[] = [];
            const end = endOf(givesBack, options.onOver);
            let subscription: Subscription | undefined;
            let operation: SharedOperation | undefined;
            const refuse = (): void => {
              subscription?.close();
              operation?.exit();
              for (const giveBack of givesBack) giveBack();
            };
            try {
              givesBack.push(open.admit(client), connection.addSubscription());
              if (assessment === undefined) throw new Error("the operation is not assessed");
              operation = shared.enter(args, assessment.operation);
              const cursor = cursorOf(args, assessment.operation);
              const all = { id, client, connection, operation, onOver: end };
              if (operation.mayStartShared(cursor)) {
                options.onOpen();
                return new ClientSubscription(undefined, { ...all, cursor });
              }
              subscription = new Subscription({
                ...{ rounds, pool, lag, flow: connection, complexity: assessment.complexity },
                client: () => client,
              });
              readFrom(args, subscription);
              const results = await operations.inTurn(client, next);
              if (!isAsyncIterable(results)) {
                refuse();
                return results;
              }
              operation.accept();
              options.onOpen();
              return new ClientSubscription({ subscription, results: results as Results }, all);
            } catch (error) {
              refuse();
              if (!(error instanceof ClientFacingError)) throw error;
              return {
                errors: [new GraphQLError(error.message, { extensions: error.extensions })],
              };
            }
          },
        },
      },
    },
  };
}

/** Apart, so that it keeps nothing else. */
const endOf =
  (givesBack: readonly (() => void)[], onOver: LiveOperationsOptions["onOver"]) =>
  (outcome: Outcome): void => {
    for (const giveBack of givesBack) giveBack();
    onOver(outcome);
  };
