// GET /v2/stream: what changes in the topics that a client names, as server-sent events.
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Counter, Gauge, Registry } from "prom-client";
import type { Pool } from "../../db/connect.ts";
import { ClientFacingError, DatabaseUnreachable } from "../../http/errors.ts";
import type { LastHead } from "../../http/known-database.ts";
import type { VersionPoll } from "../../market/version-poll.ts";
import type { AskedTopic } from "../../market/live/asked-topics.ts";
import { Feed } from "../../market/live/feed.ts";
import { PoolTurns } from "../../market/live/pool-turns.ts";
import type { LoopShare } from "../../http/streams/loop-share.ts";
import type { QuotaLimits } from "../../http/quota.ts";
import type { OpenStreams } from "../../http/streams/open-streams.ts";
import { Absent } from "../../market/absent.ts";
import type { Place } from "../../market/place.ts";
import { readOnlyRoute } from "../../http/paths.ts";
import { AS_OF } from "../params.ts";
import { misspeltIn, queryOf } from "../question.ts";
import { findPairs, findPair } from "../../market/queries/pairs.ts";
import {
  END_REASONS,
  EventStream,
  STREAM_BOUNDS,
  type EndOfAll,
  type StreamBounds,
} from "./event-stream.ts";
import { frameOf, type Frame } from "./frame.ts";
import { FROM_ACCEPTED, NO_PLACE, placeBehind, readSince } from "./since.ts";
import { acceptedTopics, readTopics, BadTopics, shown } from "./topic-names.ts";
import { topicOf, type Topic } from "../../market/live/topic.ts";

export interface StreamLimits extends StreamBounds, QuotaLimits {
  /** Milliseconds between two looks at the data. */
  checkMs: number;
  /** All streams end when nothing of the data was read for so long, in milliseconds. */
  lostMs: number;
  /** How long a client waits whose id is later than the head, in milliseconds: a standby may lag. */
  lagMs: number;
  /** How many trades an event has that a client has missed, unless one block has more. */
  pageTrades: number;
  /** How many candles of a topic an event has: a client that has missed as many begins anew. */
  pageCandles: number;
  /** How many trades a client may get at once without pages. */
  maxTrades: number;
}

export const STREAM_LIMITS: StreamLimits = {
  ...STREAM_BOUNDS,
  all: 5000,
  perClient: 50,
  checkMs: 50,
  lostMs: 3000,
  lagMs: 10_000,
  pageTrades: 1000,
  pageCandles: 1000,
  maxTrades: 10_000,
};

const ACCEPTED = [
  ["topics", acceptedTopics()],
  ["from", FROM_ACCEPTED],
  ["fromBlock", AS_OF.block.accepted],
] as const;

export interface StreamOptions {
  /** Reads the changes. */
  pool: Pool;
  /** Reads what single clients have missed. */
  clientPool: Pool;
  poll: VersionPoll;
  /** A stream is no request in flight any more: other limits bound it. */
  leaveRequests: (res: ServerResponse) => void;
  /** Gives the streams their turns to begin and to catch up. */
  share: LoopShare;
  /** Has a place for each stream. */
  open: OpenStreams;
  limits: StreamLimits;
  clientOf: (req: IncomingMessage) => string;
  /** Has the time of each refusal. */
  head: LastHead;
}

export interface Streams {
  router: Router;
  /** Their metrics. */
  registry: Registry;
  /** Ends all streams, whose clients go elsewhere. */
  endAll: (reason: EndOfAll) => void;
  /** Ends all streams, and those that begin still. */
  close: () => void;
}

export function makeStreams(options: StreamOptions): Streams {
  const { pool, clientPool, poll, leaveRequests, share, open, limits, clientOf, head } = options;
  const feed = new Feed({
    ...{ pool, clientPool, poll },
    bounds: { trades: limits.pageTrades, candles: limits.pageCandles },
    maxTrades: limits.maxTrades,
    messageOf: (event) => frameOf(event, limits.pageCandles),
  });
  const streams = new Set<EventStream>();
  /** More requests at once than POOL_QUEUE would be refused. */
  const turns = new PoolTurns();
  const closing = new AbortController();

  const registry = new Registry();
  new Gauge({
    name: "dex_streams",
    help: "Event streams that are open.",
    registers: [registry],
    collect() {
      this.set(streams.size);
    },
  });
  const ended = new Counter({
    name: "dex_streams_ended_total",
    help: "Event streams that the service has ended, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of END_REASONS) ended.inc({ reason }, 0);

  async function readRequest(req: Request) {
    try {
      const given = queryOf(req);
      for (const [name, accepted] of ACCEPTED) {
        const misspelt = misspeltIn(given, name, accepted);
        if (misspelt !== undefined) throw misspelt;
      }
      const asked = readTopics(given.getAll("topics"));
      const since = readSince(req, given);
      const topics = await registeredTopics(asked, feed, clientPool);
      if (typeof since !== "number") return { topics, since };
      return { topics, since: await placeBehind(clientPool, since, topics, limits.pageCandles) };
    } catch (error) {
      // Streams report no head to REST, and the last one that it has seen may be old.
      if (error instanceof ClientFacingError || error instanceof Absent)
        head.see(await findPairs(clientPool));
      throw error;
    }
  }

  const streamOf = (req: Request, res: Response): EventStream =>
    new EventStream(req, res, {
      ...{ bounds: limits, client: clientOf(req) },
      hold: (message) => open.hold(clientOf(req), message),
      onEnd: (reason) => ended.inc({ reason }),
    });

  const handler: RequestHandler = async (req, res) => {
    // A client may leave before each of these steps: the end of its stream has been then, and would free nothing.
    const hasLeft = (): boolean => res.destroyed;
    if (hasLeft()) return;
    if (poll.isLost) throw new DatabaseUnreachable();
    if (req.method === "HEAD") {
      await readRequest(req);
      streamOf(req, res).sendHeaders();
      return;
    }
    // Before its turn, so that no more wait than may be open.
    res.once("close", open.admit(clientOf(req)));
    leaveRequests(res);
    const read = async () => {
      if (poll.isLost) throw new DatabaseUnreachable();
      return hasLeft() ? undefined : readRequest(req);
    };
    const asked = await share.run(() => turns.run(clientOf(req), read));
    if (asked === undefined || hasLeft()) return;
    const { topics, since } = asked;
    const stream = streamOf(req, res);
    streams.add(stream);
    res.once("close", () => {
      streams.delete(stream);
      feed.leave(stream);
    });
    if (closing.signal.aborted) stream.goElsewhere("stopping");
    await follow(topics, since, stream);
    if (stream.isClosed()) feed.leave(stream);
  };

  /** Sends the client what it has missed, until it follows. */
  async function follow(
    topics: readonly AskedTopic[],
    from: Place | undefined,
    stream: EventStream,
  ): Promise<void> {
    const lagsUntil = performance.now() + limits.lagMs;
    let since = from;
    while (!stream.isClosed()) {
      const joined = await share.run(() => feed.join(topics, since, stream));
      if (joined === "follows") return;
      if (joined === "ahead") {
        if (performance.now() > lagsUntil) since = NO_PLACE;
        else await sleep(limits.checkMs, undefined, { ref: false });
        continue;
      }
      const pages = feed.pages(topics, since, stream);
      const sendPage = async (): Promise<Place | undefined> => {
        const next = await pages.next();
        if (next.done === true) return undefined;
        stream.send(next.value.messages);
        return next.value.place;
      };
      for (let sent = since; sent !== undefined; sent = await share.run(sendPage)) {
        since = sent;
        await stream.drained();
      }
    }
  }

  const endAll = (reason: EndOfAll): void => {
    for (const stream of streams) stream.goElsewhere(reason);
  };

  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/stream", handler);
  return {
    router,
    registry,
    endAll,
    close() {
      closing.abort();
      endAll("stopping");
    },
  };
}

/** Throws BadTopics for a market that is not registered. */
async function registeredTopics(
  asked: readonly AskedTopic[],
  feed: Pick<Feed<Frame>, "pairs">,
  pool: Pool,
): Promise<AskedTopic[]> {
  const problems: string[] = [];
  const topics = new Map<string, AskedTopic>();
  for (const topic of asked) {
    const found = topic.pair === "*" ? topic : await registered(topic, feed, pool);
    if (found === undefined) problems.push(`${shown(topic.name)} has an unknown market`);
    else topics.set(found.name, found);
  }
  if (problems.length > 0) throw new BadTopics(problems);
  return [...topics.values()];
}

async function registered(
  topic: Topic,
  { pairs }: Pick<Feed<Frame>, "pairs">,
  pool: Pool,
): Promise<Topic | undefined> {
  const { kind, pair, argument } = topic;
  if (pair === undefined) return topic;
  if (pairs.some(({ base, quote }) => base === pair.base && quote === pair.quote)) return topic;
  const [row] = (await findPair(pool, pair)).rows;
  return row && topicOf(kind, row, argument);
}
