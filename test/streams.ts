// Makes the event streams without a service.
import type { Pool } from "../db/connect.ts";
import { LastHead } from "../http/known-database.ts";
import { VersionPoll } from "../market/version-poll.ts";
import { LoopShare } from "../http/streams/loop-share.ts";
import { OpenStreams } from "../http/streams/open-streams.ts";
import { makeStreams, STREAM_LIMITS, type Streams } from "../rest/stream/stream-endpoint.ts";

export const streamsOf = (pool: Pool): Streams =>
  makeStreams({
    pool,
    clientPool: pool,
    poll: new VersionPoll({
      db: pool,
      everyMs: STREAM_LIMITS.checkMs,
      lostMs: STREAM_LIMITS.lostMs,
      log: () => undefined,
    }),
    leaveRequests: () => undefined,
    share: new LoopShare(() => false),
    open: new OpenStreams(STREAM_LIMITS),
    limits: STREAM_LIMITS,
    clientOf: () => "",
    head: new LastHead(),
  });
