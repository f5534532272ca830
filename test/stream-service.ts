// The event streams alone, over HTTP: a service that is made and closed within milliseconds.
import express from "express";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { Pool } from "../db/connect.ts";
import { makeStreams, STREAM_LIMITS, type StreamLimits } from "../rest/stream/stream-endpoint.ts";
import { LastHead } from "../http/known-database.ts";
import { VersionPoll } from "../market/version-poll.ts";
import { LoopShare } from "../http/streams/loop-share.ts";
import { OpenStreams } from "../http/streams/open-streams.ts";
import { answerFailures, refuseAsOf } from "../http/refusal.ts";

export interface StreamService {
  url: string;
  /** The logged errors, oldest first. */
  logged: unknown[];
  /** How many streams are open. */
  count: () => Promise<number>;
  /** How many connections are open. */
  connections: () => Promise<number>;
  close: () => Promise<void>;
}

/** Looks at the data all the time; any number of streams. */
export async function startStreams(
  pool: Pool,
  limits: Partial<StreamLimits> = {},
  share = new LoopShare(() => false),
): Promise<StreamService> {
  const logged: unknown[] = [];
  const log = (error: unknown): void => void logged.push(error);
  const used = { ...STREAM_LIMITS, checkMs: 1, perClient: STREAM_LIMITS.all, ...limits };
  const poll = new VersionPoll({ db: pool, everyMs: used.checkMs, lostMs: used.lostMs, log });
  const streams = makeStreams({
    pool,
    clientPool: pool,
    poll,
    leaveRequests: () => undefined,
    share,
    open: new OpenStreams(used),
    limits: used,
    clientOf: () => "",
    head: new LastHead(),
  });
  const app = express();
  const open = new Set<ServerResponse>();
  app.use((_req, res, next) => {
    open.add(res);
    res.once("close", () => open.delete(res));
    next();
  });
  app.use("/v2", streams.router);
  app.use(answerFailures(refuseAsOf(new LastHead()), log));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logged,
    async count() {
      const { values } = await streams.registry.getSingleMetric("dex_streams")!.get();
      return values[0]!.value;
    },
    connections: promisify(server.getConnections.bind(server)),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      streams.close();
      await poll.close();
      // A client may hold a connection on which it has asked nothing.
      while (open.size > 0) await Promise.all([...open].map((res) => once(res, "close")));
      server.closeAllConnections();
      await closed;
    },
  };
}
