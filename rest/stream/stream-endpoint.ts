// GET /v2/stream: what changes in the topics that a client names, as server-sent events.
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Counter, Gauge, Registry } from "prom-client";
import type { Pool } from "../../db/connect.ts";
import { BadParameter, ClientFacingError } from "../../server/http/errors.ts";
import type { LastHead } from "../../server/http/last-head.ts";
import type { DataWatch } from "../../server/http/live/data-watch.ts";
import type { LoopShare } from "../../server/http/live/loop-share.ts";
import type { OpenStreamLimits, OpenStreams } from "../../server/http/live/open-streams.ts";
import { readPlaceText, type Place } from "../../server/http/live/place.ts";
import type { RequestsWaiting } from "../../server/http/live/requests-waiting.ts";
import { readOnlyRoute } from "../../server/http/read-only-route.ts";
import { queryOf } from "../params.ts";
import { findPairs } from "../queries/pairs.ts";
import { END_REASONS, EventStream, STREAM_BOUNDS, type StreamBounds } from "./event-stream.ts";
import { Feed } from "./feed.ts";
import { readTopics, type AskedTopic } from "./topics.ts";

export interface StreamLimits extends StreamBounds, OpenStreamLimits {
  /** Milliseconds between two looks at the data. */
  checkMs: number;
  /** How long a client waits whose id is later than the head, in milliseconds: a standby may lag. */
  lagMs: number;
  /** How many trades an event has that a client has missed, unless one block has more. */
  pageTrades: number;
}

export const STREAM_LIMITS: StreamLimits = {
  ...STREAM_BOUNDS,
  all: 5000,
  perClient: 50,
  checkMs: 50,
  lagMs: 10_000,
  pageTrades: 1000,
};

export interface StreamOptions {
  /** Reads the changes. */
  pool: Pool;
  /** Reads what single clients have missed. */
  clientPool: Pool;
  watch: DataWatch;
  /** The requests that do not wait for a stream. */
  requests: RequestsWaiting;
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
  /** Ends all streams. */
  close: () => void;
}

/** Any id that the header has is accepted: a client of another history starts anew. */
const NO_PLACE: Place = { origin: "", epoch: "", reorganisation: 0, block: -1, trade: 0 };

export const FROM_ACCEPTED = "the id of an event, given once";

export function makeStreams(options: StreamOptions): Streams {
  const { pool, clientPool, watch, requests, share, open, limits, clientOf, head } = options;
  const feed = new Feed({ pool, clientPool, watch, pageTrades: limits.pageTrades });
  const streams = new Set<EventStream>();
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
      const asked = readTopics(given.getAll("topics"));
      const since = readSince(req, given);
      return { topics: await feed.resolve(asked), since };
    } catch (error) {
      // Streams tell REST of no head, and the last one that it has seen may be old.
      if (error instanceof ClientFacingError) head.see(await findPairs(clientPool));
      throw error;
    }
  }

  const streamOf = (req: Request, res: Response): EventStream =>
    new EventStream(req, res, limits, (reason) => ended.inc({ reason }));

  const handler: RequestHandler = async (req, res) => {
    // A client may leave before each of these steps: the end of its stream has been then, and would free nothing.
    const hasLeft = (): boolean => res.destroyed;
    if (hasLeft()) return;
    if (req.method === "HEAD") {
      await readRequest(req);
      streamOf(req, res).sendHeaders();
      return;
    }
    requests.leaveOut(res);
    // Before its turn, so that no more wait than may be open.
    res.once("close", open.admit(clientOf(req)));
    const { topics, since } = await share.run(() => readRequest(req));
    if (hasLeft()) return;
    const stream = streamOf(req, res);
    streams.add(stream);
    res.once("close", () => {
      streams.delete(stream);
      feed.leave(stream);
    });
    if (closing.signal.aborted) stream.stop();
    await follow(topics, since, stream);
    if (stream.isClosed()) feed.leave(stream);
  };

  /** Tells the client what it has missed, until it follows. */
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
      const pages = feed.pages(topics, since, () => stream.isClosed());
      const tellPage = async (): Promise<Place | undefined> => {
        const next = await pages.next();
        if (next.done === true) return undefined;
        stream.tell(next.value.frames);
        return next.value.place;
      };
      for (let told = since; told !== undefined; told = await share.run(tellPage)) {
        since = told;
        await stream.drained();
      }
    }
  }

  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/stream", handler);
  return {
    router,
    registry,
    close() {
      closing.abort();
      for (const stream of streams) stream.stop();
    },
  };
}

/** The place to go on from; undefined to begin. */
function readSince(req: Request, given: URLSearchParams): Place | undefined {
  const last = req.get("Last-Event-ID") ?? "";
  // A browser keeps the URL when it comes back, and adds the header.
  if (last !== "") return readPlaceText(last) ?? NO_PLACE;
  const [from, ...more] = given.getAll("from");
  if (from === undefined) return undefined;
  const place = more.length === 0 ? readPlaceText(from) : undefined;
  if (place === undefined) throw new BadParameter("from", FROM_ACCEPTED);
  return place;
}
