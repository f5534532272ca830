// The log's line of a request, as JSON.
import { pino } from "pino";
import type { Observation } from "./observation.ts";

const { info, warn } = pino.levels.values;

/** The level that a request is logged at: a failure of the service's is a warning. */
export const levelOf = ({ status }: Observation): "info" | "warn" =>
  status >= 500 ? "warn" : "info";

/** What most requests of a route have in common, and the text of it. */
interface InCommon extends Pick<
  Observation,
  "method" | "operation" | "errors" | "status" | "cache"
> {
  text: string;
}

/** As it was last, by route. */
const inCommon = new Map<string | undefined, InCommon>();

/**
 * The line, with its end, as the logger would write it in four times the time, which is a part of that
 * of an answer from memory. Ids, routes, and the names of operations have no letter that JSON escapes.
 */
export function requestLine(observation: Observation): string {
  const { id, ms, endedAt, answeredAs } = observation;
  return (
    `${beginAt(endedAt, levelOf(observation) === "warn" ? warn : info)}${id}` +
    `${textInCommon(observation)}${toTheMicrosecond(ms)}` +
    (answeredAs === undefined ? "" : `,"answeredAs":"${answeredAs}"`) +
    `${observation.isAborted ? ',"isAborted":true' : ""},"msg":"request"}\n`
  );
}

function textInCommon({ route, method, operation, errors, status, cache }: Observation): string {
  const last = inCommon.get(route);
  if (
    last?.status === status &&
    last.cache === cache &&
    last.method === method &&
    last.operation === operation &&
    last.errors === errors
  ) {
    return last.text;
  }
  // Joined, it is one text to V8: what is only added up is gone through piece by piece each time.
  const text = [
    `","method":"${method}",`,
    route === undefined ? "" : `"route":"${route}",`,
    operation === undefined ? "" : `"operation":"${operation}",`,
    errors === undefined ? "" : `"errors":${JSON.stringify(errors)},`,
    `"status":${status},`,
    cache === undefined ? "" : `"cache":"${cache}",`,
    '"ms":',
  ].join("");
  inCommon.set(route, { method, operation, errors, status, cache, text });
  return text;
}

/** The begin of a line up to its id, as it was last: within a millisecond end many. */
let begin = { time: NaN, level: info, text: "" };

function beginAt(time: number, level: number | undefined): string {
  if (begin.time !== time || begin.level !== level) {
    begin = { time, level, text: `{"level":${level},"time":${time},"requestId":"` };
  }
  return begin.text;
}

const THOUSANDTHS = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"));

/** To write a fraction as text takes V8 as long as the rest of the line; whole numbers it knows. */
function toTheMicrosecond(ms: number): string {
  const microseconds = Math.round(ms * 1000);
  const whole = Math.floor(microseconds / 1000);
  return `${whole}.${THOUSANDTHS[microseconds - whole * 1000]}`;
}
