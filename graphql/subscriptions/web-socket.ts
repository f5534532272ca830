// Serves subscriptions at /graphql by WebSocket, with the protocol of graphql-ws.
// First, because PostGraphile reads the environment when it is loaded.
import type { Socket } from "node:net";
import "../production.ts";
import { CloseCode, handleProtocols, makeServer, type ServerOptions } from "graphql-ws";
import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { createWithPgClient } from "postgraphile/adaptors/pg";
import type { GrafservBase } from "postgraphile/grafserv";
import type { Registry } from "prom-client";
import { WebSocketServer, type WebSocket } from "ws";
import type { Pool } from "../../db/connect.ts";
import type { DatabaseGate } from "../../http/known-database.ts";
import {
  ClientFacingError,
  DatabaseUnreachable,
  UnknownKey,
  MalformedRequest,
  MethodNotAllowed,
} from "../../http/errors.ts";
import type { VersionPoll } from "../../market/version-poll.ts";
import { OpenStreams } from "../../http/streams/open-streams.ts";
import { Quota, type QuotaLimits } from "../../http/quota.ts";
import { BODIES } from "../../http/held-requests.ts";
import { stateOf } from "../../http/request.ts";
import type { RateLimiter } from "../../http/rate-limit.ts";
import type { Refuse } from "../../http/refusal.ts";
import { upgradeProblem } from "../../http/well-formed.ts";
import type { PersistedDocuments } from "../persisted/documents.ts";
import type { OperationsInFlight } from "../limits/operations-in-flight.ts";
import { Connection, type CloseReason, type ConnectionBounds } from "./connection.ts";
import { liveMetrics } from "./live-metrics.ts";
import { makeLiveOperationsPlugin } from "./live-operations.ts";
import type { LoopShare } from "../../http/streams/loop-share.ts";
import { isRefused, protocolSettings } from "./protocol.ts";
import { Rounds } from "../../market/live/rounds.ts";
import { openLiveSnapshot } from "./live-snapshot.ts";
import type { Lag } from "./subscription.ts";
import { boundUnfinished } from "./unfinished-messages.ts";

export interface LiveOptions {
  /** Reads the events. */
  pool: Pool;
  poll: VersionPoll;
  /** Gives the subscriptions their turns. */
  share: LoopShare;
  /** Has a place for each subscription. */
  open: OpenStreams;
  /** Of connections too. */
  streamsOfKey?: ((client: string) => number | undefined) | undefined;
  limits: ConnectionBounds & QuotaLimits & Lag;
  /** The most bytes of a message. */
  messageBytes: number;
  operations: OperationsInFlight;
  /** Default: any document is run. */
  documents?: PersistedDocuments | undefined;
  gate: DatabaseGate;
  limiter: RateLimiter;
  clientOf: (req: IncomingMessage) => string;
  refuse: Refuse;
  /** Reports the request of a connection when it is over. */
  observeSocket: (req: IncomingMessage, socket: Duplex) => void;
  log: (error: unknown) => void;
}

export interface Live {
  plugin: GraphileConfig.Plugin;
  /** Its metrics. */
  registry: Registry;
  /** Upgrades requests of the server from now on. */
  serve: (server: Server, instance: GrafservBase) => void;
  /** Closes all connections, whose clients resume elsewhere. */
  endAll: (reason: CloseReason) => void;
  /** Closes them, and those that begin still. */
  close: () => Promise<void>;
}

/** A client that does not answer the closing is disconnected after this time. */
const CLOSE_MS = 1000;

/** Of one message: each takes some 200 bytes beside its own. */
const MAX_FRAGMENTS = 128;
/** Reads of the socket for one frame, whose bytes a network brings by the thousand. */
const MAX_CHUNKS = 1024;

/** Other requests for an upgrade are answered without one. */
export const isForWebSocket = (req: IncomingMessage): boolean =>
  stateOf(req).isForGraphql && req.headers.upgrade?.toLowerCase() === "websocket";

/** For what the handshake lacks: RFC 6455, 4.4 names the version that is accepted. */
const handshakeProblem = ({ method = "" }: IncomingMessage, message: string): ClientFacingError =>
  method === "GET"
    ? new MalformedRequest(message, { "Sec-WebSocket-Version": "13" })
    : new MethodNotAllowed(method, "GET");

export function makeLive(options: LiveOptions): Live {
  const { pool, poll, share, open, limits, operations, clientOf, log } = options;
  const withPgClient = createWithPgClient({ pool });
  const rounds = new Rounds({ open: () => openLiveSnapshot(withPgClient), poll, share, log });
  const connections = new WeakMap<object, Connection>();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: options.messageBytes,
    // Its types lack these.
    ...{ closeTimeout: CLOSE_MS, maxFragments: MAX_FRAGMENTS, maxBufferedChunks: MAX_CHUNKS },
    perMessageDeflate: false,
    handleProtocols,
  });
  const openSockets = new OpenStreams(limits, options.streamsOfKey);
  // Of messages that are not done: those that wait, and those of open subscriptions, whose documents and variables stay.
  const messageBytes = new Quota({
    perClient: BODIES.perClient * options.messageBytes,
    all: BODIES.all * options.messageBytes,
  });
  let subscriptions = 0;
  const { registry, over, closed } = liveMetrics({
    subscriptions: () => subscriptions,
    connections: () => sockets.clients.size,
  });
  let isStopping = false;

  const connectionOf = (socket: object): Connection => {
    const connection = connections.get(socket);
    if (connection === undefined) throw new Error("the connection has ended");
    return connection;
  };

  function refusalOf(req: IncomingMessage): ClientFacingError | undefined {
    if (poll.isLost || isStopping) return new DatabaseUnreachable();
    const refusal = options.gate.refusal ?? options.limiter.hit(req);
    return refusal ?? (stateOf(req).hasUnknownKey ? new UnknownKey() : undefined);
  }

  function upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Node's own handler is gone after the upgrade.
    socket.on("error", () => socket.destroy());
    try {
      options.observeSocket(req, socket);
      const refusal = upgradeProblem(req) ?? refusalOf(req);
      if (refusal !== undefined) throw refusal;
      const leave = openSockets.admit(clientOf(req));
      socket.once("close", leave);
      sockets.handleUpgrade(req, socket, head, (ws) => sockets.emit("connection", ws, req));
    } catch (error) {
      if (error instanceof ClientFacingError) {
        refuseUpgrade(req, socket, error);
        return;
      }
      log(error);
      socket.destroy();
    }
  }

  function refuseUpgrade(req: IncomingMessage, socket: Duplex, error: ClientFacingError): void {
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(req.socket);
    res.once("finish", () => {
      // What is unread would keep the socket for ever; destroyed at once, it would lose the answer.
      socket.end().resume();
      const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
      socket.once("close", () => clearTimeout(timer));
    });
    options.refuse(req, res, error);
    stateOf(req).status = error.status;
  }

  function connect(config: ServerOptions): (socket: WebSocket, request: IncomingMessage) => void {
    const protocol = makeServer(config);
    return (socket, request) => {
      const client = clientOf(request);
      const connection = new Connection({
        ...{ socket, raw: request.socket, bounds: limits },
        hold: (message) => open.hold(client, message),
        onClose: (reason) => closed.inc({ reason }),
      });
      connections.set(socket, connection);
      const mayReceive = (): boolean => {
        // Also pings come behind the one that was too many: the client reads no refusal of them.
        if (socket.readyState !== socket.OPEN) return false;
        const refusal = options.limiter.hit(request);
        if (refusal !== undefined) connection.close("busy", refusal.message);
        return refusal === undefined;
      };
      const hold = (bytes: number): (() => void) | undefined => messageBytes.take(client, bytes);
      boundUnfinished({
        ...{ socket, raw: request.socket, hold },
        onFull: () => connection.close("busy", "too many bytes of messages without an end"),
      });
      boundClosing(socket, request.socket);
      socket.on("error", () => socket.terminate());
      socket.on("ping", mayReceive);
      socket.on("pong", mayReceive);
      const gone = protocol.opened(
        {
          protocol: socket.protocol,
          send: (text) => {
            connection.send(text);
            return Promise.resolve();
          },
          close: (code, reason) => socket.close(code, reason),
          onMessage: (receive) =>
            connection.receiveBy({
              mayReceive,
              hold,
              // graphql-ws parses a text alone.
              receive: (message) =>
                receive(message as string).catch((error: unknown) => {
                  if (isRefused(message, error)) {
                    socket.close(CloseCode.BadRequest, "Invalid message received");
                    return;
                  }
                  log(error);
                  socket.close(CloseCode.InternalServerError, "Internal error");
                }),
            }),
        },
        { socket, request },
      );
      socket.once("close", (code: number, reason: Buffer) => {
        gone(code, String(reason)).catch(log);
      });
    };
  }

  function endAll(reason: CloseReason): void {
    for (const socket of sockets.clients) connections.get(socket)?.close(reason);
  }

  return {
    plugin: makeLiveOperationsPlugin({
      ...{ rounds, pool },
      lag: limits,
      ...{ share, open, operations, clientOf, connectionOf },
      onOpen: () => (subscriptions += 1),
      onOver(outcome) {
        subscriptions -= 1;
        over.inc({ outcome });
      },
    }),
    registry,
    serve(server, instance) {
      // Without a listener, it is answered as HTML.
      sockets.on("wsClientError", ({ message }, socket, req) => {
        refuseUpgrade(req, socket, handshakeProblem(req, message));
      });
      sockets.on(
        "connection",
        connect(
          protocolSettings(instance, {
            ...{ connectionOf, share, documents: options.documents },
            initMs: limits.heartbeatMs,
            onRefused: () => over.inc({ outcome: "refused" }),
          }),
        ),
      );
      server.on("upgrade", upgrade);
    },
    endAll,
    async close() {
      isStopping = true;
      endAll("stopping");
      await rounds.close();
    },
  };
}

/** Read after the end: room for what was on its way, and for the client's answer. */
const MAX_BYTES = 16_384;

/**
 * Reads no more of a client that goes on sending while its connection is being closed: ws would handle each frame until it
 * disconnects the client, and a flood of small ones takes all of the event loop.
 */
export function boundClosing(socket: WebSocket, raw: Socket): void {
  let read = 0;
  raw.on("data", ({ length }: Buffer) => {
    if (socket.readyState === socket.OPEN) return;
    read += length;
    if (read > MAX_BYTES) socket.pause();
  });
}
