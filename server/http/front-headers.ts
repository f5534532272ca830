// The headers that every answer carries besides its own: the request's id, its limit, its time.
import { ServerResponse, type IncomingMessage, type RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { observationOf, type Observation } from "./observe/observation.ts";

/** The request's own headers as of now: names and values in turn. */
function frontHeaders(req: IncomingMessage): string[] {
  const observation = observationOf(req);
  if (observation === undefined) return [];
  return [...observation.headers, "Server-Timing", serverTiming(observation)];
}

/** The value of `Server-Timing` as of now, milliseconds to the microsecond. */
function serverTiming({ cache, databaseMs, startedAt }: Observation): string {
  if (cache === "hit") return "cache;desc=hit";
  const total = `total;dur=${(performance.now() - startedAt).toFixed(3)}`;
  const database = databaseMs === undefined ? "" : `, db;dur=${databaseMs.toFixed(3)}`;
  return `${cache === undefined ? "" : `cache;desc=${cache}, `}${total}${database}`;
}

/** Adds them to every answer of a listener. */
export function withFrontHeaders(next: RequestListener): RequestListener {
  return (req, res) => {
    // An own property: Express replaces the prototype.
    res.writeHead = writeHeadWithThem;
    next(req, res);
  };
}

type WriteHead = (this: ServerResponse, ...args: unknown[]) => ServerResponse;

function writeHeadWithThem(this: ServerResponse, ...args: unknown[]): ServerResponse {
  const given = args.at(-1);
  const added = frontHeaders(this.req);
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
  const writeHead = ServerResponse.prototype.writeHead as WriteHead;
  // Node writes a list as it is, and copies headers that were set before.
  if (Array.isArray(given)) {
    return writeHead.call(this, ...args.slice(0, -1), given.concat(added));
  }
  for (let n = 0; n < added.length; n += 2) this.setHeader(added[n] ?? "", added[n + 1] ?? "");
  return writeHead.apply(this, args);
}
