// The settings of graphql-ws: which operations are run by WebSocket, and how they are refused.
// First, because PostGraphile reads the environment when it is loaded.
import "../production.ts";
import {
  MessageType,
  type Context,
  type Message,
  type ServerOptions,
  type SubscribePayload,
} from "graphql-ws";
import { getOperationAST, GraphQLError, OperationTypeNode, type ExecutionArgs } from "graphql";
import type { IncomingMessage } from "node:http";
import { isAsyncIterable } from "postgraphile/grafast";
import { makeGraphQLWSConfig, type GrafservBase } from "postgraphile/grafserv";
import type { WebSocket } from "ws";
import { ClientFacingError, TooManyStreams } from "../../http/errors.ts";
import { holdsNul } from "../limits/body.ts";
import { NO_DOCUMENTS, type PersistedDocuments } from "../persisted/documents.ts";
import { NUL_MESSAGE } from "../schema/validation-rules.ts";
import type { Connection } from "./connection.ts";
import type { LoopShare } from "../../http/streams/loop-share.ts";

/** Subscriptions of one connection. */
const MAX_OF_A_CONNECTION = 32;

interface Extra {
  socket: WebSocket;
  request: IncomingMessage;
}

type ClientContext = Context<Record<string, unknown>, Extra>;

interface ProtocolOptions {
  connectionOf: (socket: object) => Connection;
  /** Has a turn for each subscription that begins. */
  share: LoopShare;
  /** Milliseconds until the client's connection_init. */
  initMs: number;
  documents?: PersistedDocuments | undefined;
  onRefused: () => void;
}

/** grafserv's settings, with subscriptions only; they begin one after the other on each connection. */
export function protocolSettings(
  instance: GrafservBase,
  { connectionOf, share, initMs, documents, onRefused }: ProtocolOptions,
): ServerOptions {
  const config = makeGraphQLWSConfig(instance) as unknown as ServerOptions<
    Record<string, unknown>,
    Extra
  >;
  const begin = async (...[ctx, id, payload]: [ClientContext, string, never]) => {
    const max = MAX_OF_A_CONNECTION;
    // The context also counts the subscriptions that wait for their turn.
    if (connectionOf(ctx.extra.socket).subscriptions >= max) {
      const { message, extensions } = new TooManyStreams(max, "connection");
      return [new GraphQLError(message, { extensions })];
    }
    if (holdsNul((payload as SubscribePayload).variables)) {
      return [new GraphQLError(NUL_MESSAGE, { extensions: { code: "BAD_USER_INPUT" } })];
    }
    const refusal = refusalOf(payload, documents);
    if (refusal !== undefined) return [refusal];
    const args = (await config.onSubscribe?.(ctx, id, payload)) as
      ExecutionArgs | readonly GraphQLError[] | undefined;
    if (args === undefined) return args;
    if (!("document" in args)) return args.map(asBadRequest);
    const problem = operationProblem(args);
    if (problem !== undefined) {
      return [new GraphQLError(problem, { extensions: { code: "BAD_REQUEST" } })];
    }
    Object.assign(args.contextValue as Grafast.Context, { messageId: id });
    // Here rather than by graphql-ws, so that a refusal is a message of type "error", as one of the document is.
    const result = await config.subscribe?.(args);
    if (result !== undefined && !isAsyncIterable(result)) return result.errors;
    return begunAs(args, result);
  };
  return {
    ...config,
    connectionInitWaitTimeout: initMs,
    async onSubscribe(ctx: ClientContext, id: string, payload: never) {
      const { extra } = ctx;
      const begun = await connectionOf(extra.socket).begin(() =>
        share.run(() => begin(ctx, id, payload)),
      );
      if (Array.isArray(begun)) onRefused();
      return begun;
    },
  } as unknown as ServerOptions;
}

/** A message has the text of its document: the protocol knows no identifier. */
function refusalOf(payload: SubscribePayload, documents = NO_DOCUMENTS): GraphQLError | undefined {
  try {
    documents.textOf({ query: payload.query });
    return undefined;
  } catch (error) {
    if (!(error instanceof ClientFacingError)) throw error;
    return new GraphQLError(error.message, { extensions: error.extensions });
  }
}

/** What graphql-ws keeps for as long as the subscription: no more than it reads. */
const begunAs = ({ document, operationName }: ExecutionArgs, result: unknown) => ({
  ...{ document, operationName, rootValue: null, contextValue: null },
  subscribe: () => result,
});

/** Validation refuses a mutation without a code, as after a POST. */
function asBadRequest(error: GraphQLError): GraphQLError {
  const isOfMutation = error.nodes?.some(
    (node) => "operation" in node && node.operation === OperationTypeNode.MUTATION,
  );
  if (isOfMutation !== true) return error;
  const { message, nodes } = error;
  return new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: "BAD_REQUEST" } });
}

function operationProblem({ document, operationName }: ExecutionArgs): string | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation == null) {
    return operationName == null
      ? "operationName must name one of the document's operations"
      : `The document has no operation ${JSON.stringify(operationName)}`;
  }
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) return undefined;
  return "Only subscriptions are served by WebSocket: send queries by POST";
}

const FROM_SERVICE: readonly string[] = [
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
];

/**
 * Whether the client is at fault where graphql-ws fails: only a service sends this message, or the payload of a ping nests
 * deeper than the stack, by which the pong is written.
 */
export const isRefused = (message: Message | string, error: unknown): boolean =>
  typeof message !== "string" &&
  (FROM_SERVICE.includes(message.type) ||
    (message.type === MessageType.Ping && error instanceof RangeError));
