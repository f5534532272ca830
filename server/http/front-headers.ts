// Adds the headers of a request's observation to its answer: id, rate limit, Server-Timing.
import { ServerResponse, type RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { observationOf, type Observation } from "./observe/observation.ts";

export const withFrontHeaders =
  (next: RequestListener): RequestListener =>
  (req, res) => {
    // An own property, because Express replaces the prototype.
    res.writeHead = writeHead;
    next(req, res);
  };

type WriteHead = (this: ServerResponse, ...args: unknown[]) => ServerResponse;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const writeHeadOfNode = ServerResponse.prototype.writeHead as WriteHead;

function writeHead(this: ServerResponse, ...args: unknown[]): ServerResponse {
  const observation = observationOf(this.req);
  if (observation === undefined) return writeHeadOfNode.apply(this, args);
  const added = [...observation.headers, "Server-Timing", serverTiming(observation)];
  const given = args.at(-1);
  // Node writes a list as it is, but copies it where a header was set before.
  if (Array.isArray(given)) {
    return writeHeadOfNode.call(this, ...args.slice(0, -1), given.concat(added));
  }
  for (let n = 0; n < added.length; n += 2) this.setHeader(added[n] ?? "", added[n + 1] ?? "");
  return writeHeadOfNode.apply(this, args);
}

/** Milliseconds to the microsecond. */
function serverTiming({ cache, databaseMs, startedAt }: Observation): string {
  if (cache === "hit") return "cache;desc=hit";
  const total = `total;dur=${(performance.now() - startedAt).toFixed(3)}`;
  const database = databaseMs === undefined ? "" : `, db;dur=${databaseMs.toFixed(3)}`;
  return `${cache === undefined ? "" : `cache;desc=${cache}, `}${total}${database}`;
}
