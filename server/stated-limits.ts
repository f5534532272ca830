// The limits that the page of the service's state names.
import { GRAPHQL_LIMITS, IN_FLIGHT_LIMITS } from "../graphql/limits/limits.ts";
import type { StatedLimits } from "../page/service-state.ts";
import { STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import type { AppSettings } from "./app-options.ts";

export function statedLimits({
  limits: { page, cost, bodyBytes } = GRAPHQL_LIMITS,
  streams = STREAM_LIMITS,
  inFlight = IN_FLIGHT_LIMITS,
  rateLimit: requestsAMinute = 0,
  requestsPerClient: requests = 0,
  maxHeadAge = 0,
  maxReplicaLag = 0,
}: AppSettings): StatedLimits {
  return {
    ...{ requestsAMinute, requests, page, cost, bodyBytes, maxHeadAge, maxReplicaLag },
    operations: inFlight.perClient,
    streams: streams.perClient,
    allStreams: streams.all,
  };
}
