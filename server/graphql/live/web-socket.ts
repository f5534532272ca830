// Serves subscriptions at /graphql by WebSocket, with the protocol of graphql-ws.
// First, because PostGraphile reads the environment when it is loaded.
import "../production.ts";
import { CloseCode, handleProtocols, makeServer, type ServerOptions } from "graphql-ws";
import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { GrafservBase } from "postgraphile/grafserv";
import type { Registry } from "prom-client";
import { WebSocketServer, type WebSocket } from "ws";
import type { Pool } from "../../../db/connect.ts";
import type { DatabaseGate } from "../../http/database-gate.ts";
import { ClientFacingError, DatabaseNotReady, DatabaseUnreachable } from "../../http/errors.ts";
import type { DataWatch } from "../../http/live/data-watch.ts";
import { OpenStreams, type OpenStreamLimits } from "../../http/live/open-streams.ts";
import { observationOf } from "../../http/observe/observation.ts";
import type { RateLimiter } from "../../http/rate-limit.ts";
import type { Refuse } from "../../http/refusal.ts";
import type { OperationsInFlight } from "../limits/operations-in-flight.ts";
import { Connection, type ConnectionBounds } from "./connection.ts";
import { liveMetrics } from "./live-metrics.ts";
import { makeLiveOperationsPlugin } from "./live-operations.ts";
import type { LoopShare } from "../../http/live/loop-share.ts";
import { isFromService, protocolSettings } from "./protocol.ts";
import { Rounds } from "./rounds.ts";
import type { Lag } from "./subscription.ts";

export interface LiveOptions {
  /** Reads the events. */
  pool: Pool;
  watch: DataWatch;
  /** Gives the subscriptions their turns. */
  share: LoopShare;
  /** Has a place for each subscription. */
  open: OpenStreams;
  limits: ConnectionBounds & OpenStreamLimits & Lag;
  /** The most bytes of a message. */
  messageBytes: number;
  operations: OperationsInFlight;
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
  close: () => Promise<void>;
}

/** A client that does not answer the closing is disconnected after this time. */
const CLOSE_MS = 1000;

const PATH = /^\/graphql(?:\?|$)/;

/** Other requests for an upgrade are answered without one. */
export const isForWebSocket = ({ url = "", headers }: IncomingMessage): boolean =>
  PATH.test(url) && headers.upgrade?.toLowerCase() === "websocket";

export function makeLive(options: LiveOptions): Live {
  const { pool, watch, share, open, limits, operations, clientOf, log } = options;
  const rounds = new Rounds({ pool, watch, share, log });
  const connections = new WeakMap<object, Connection>();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: options.messageBytes,
    // Its types lack this one.
    ...{ closeTimeout: CLOSE_MS },
    perMessageDeflate: false,
    handleProtocols,
  });
  const openSockets = new OpenStreams(limits);
  const { registry, over, closed } = liveMetrics({
    subscriptions: () => rounds.size,
    connections: () => sockets.clients.size,
  });
  let isStopping = false;

  const connectionOf = (socket: object): Connection => {
    const connection = connections.get(socket);
    if (connection === undefined) throw new Error("the connection has ended");
    return connection;
  };

  function refusalOf(req: IncomingMessage): ClientFacingError | undefined {
    const { obstacle } = options.gate;
    if (obstacle?.kind === "unreachable" || isStopping) return new DatabaseUnreachable();
    return obstacle ? new DatabaseNotReady() : options.limiter.hit(req);
  }

  function upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    options.observeSocket(req, socket);
    // Node's own handler is gone after the upgrade.
    socket.on("error", () => socket.destroy());
    try {
      const refusal = refusalOf(req);
      if (refusal !== undefined) throw refusal;
      const leave = openSockets.admit(clientOf(req));
      socket.once("close", leave);
      sockets.handleUpgrade(req, socket, head, (ws) => sockets.emit("connection", ws, req));
    } catch (error) {
      if (!(error instanceof ClientFacingError)) throw error;
      const res = new ServerResponse(req);
      res.shouldKeepAlive = false;
      res.assignSocket(req.socket);
      res.once("finish", () => socket.end());
      options.refuse(req, res, error);
      const observation = observationOf(req);
      if (observation !== undefined) observation.status = error.status;
    }
  }

  function connect(config: ServerOptions): (socket: WebSocket, request: IncomingMessage) => void {
    const protocol = makeServer(config);
    return (socket, request) => {
      const connection = new Connection(socket, limits, (reason) => closed.inc({ reason }));
      connections.set(socket, connection);
      const mayReceive = (): boolean => {
        const refusal = options.limiter.hit(request);
        if (refusal !== undefined) connection.close("busy", refusal.message);
        return refusal === undefined;
      };
      socket.on("error", () => socket.terminate());
      socket.on("ping", mayReceive);
      const gone = protocol.opened(
        {
          protocol: socket.protocol,
          send: (text) => {
            connection.send(text);
            return Promise.resolve();
          },
          close: (code, reason) => socket.close(code, reason),
          onMessage: (receive) =>
            socket.on("message", (data: Buffer) => {
              if (!mayReceive()) return;
              const text = String(data);
              receive(text).catch((error: unknown) => {
                if (isFromService(text)) {
                  socket.close(CloseCode.BadRequest, "Invalid message received");
                  return;
                }
                log(error);
                socket.close(CloseCode.InternalServerError, "Internal error");
              });
            }),
        },
        { socket, request },
      );
      socket.once("close", (code: number, reason: Buffer) => {
        gone(code, String(reason)).catch(log);
      });
    };
  }

  return {
    plugin: makeLiveOperationsPlugin({
      rounds,
      lag: limits,
      open,
      operations,
      clientOf,
      connectionOf,
      onOver: (outcome) => over.inc({ outcome }),
    }),
    registry,
    serve(server, instance) {
      sockets.on(
        "connection",
        connect(protocolSettings(instance, { connectionOf, share, initMs: limits.heartbeatMs })),
      );
      server.on("upgrade", upgrade);
    },
    async close() {
      isStopping = true;
      for (const socket of sockets.clients) connections.get(socket)?.close("stopping");
      await rounds.close();
    },
  };
}
