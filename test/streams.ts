// Makes the event streams without a service.
import type { Pool } from "../db/connect.ts";
import { LastHead } from "../server/http/last-head.ts";
import { DataWatch } from "../server/http/live/data-watch.ts";
import { LoopShare } from "../server/http/live/loop-share.ts";
import { OpenStreams } from "../server/http/live/open-streams.ts";
import { RequestsWaiting } from "../server/http/live/requests-waiting.ts";
import { makeStreams, STREAM_LIMITS, type Streams } from "../rest/stream/stream-endpoint.ts";

export const streamsOf = (pool: Pool): Streams =>
  makeStreams({
    pool,
    clientPool: pool,
    watch: new DataWatch({ db: pool, everyMs: STREAM_LIMITS.checkMs, log: () => undefined }),
    requests: new RequestsWaiting(),
    share: new LoopShare(() => false),
    open: new OpenStreams(STREAM_LIMITS),
    limits: STREAM_LIMITS,
    clientOf: () => "",
    head: new LastHead(),
  });
