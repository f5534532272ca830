// The span of a request, from its first line until its answer is out, and which requests have one.
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base";
import type { IncomingHttpHeaders } from "node:http";
import {
  currentState,
  stateOf,
  type RequestState,
  type Step,
  type Trace,
} from "../http/request.ts";

/** The trace of a sampled request; `context` is that of its innermost span. */
export class RequestTrace implements Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled = true;
  context: Context;

  constructor(span: Span, parent: Context) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.context = trace.setSpan(parent, span);
  }
}

/** The trace of a request that is sampled. */
export const sampledTrace = (
  state: RequestState | undefined = currentState(),
): RequestTrace | undefined => (state?.trace instanceof RequestTrace ? state.trace : undefined);

/** Runs what has a span within that of its request. */
export async function withinSpan<Result>(
  span: Span,
  requestTrace: RequestTrace,
  act: () => Result,
): Promise<Awaited<Result>> {
  const outer = requestTrace.context;
  requestTrace.context = trace.setSpan(outer, span);
  try {
    return await act();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    requestTrace.context = outer;
    span.end();
  }
}

const propagator = new W3CTraceContextPropagator();
const HEADERS = {
  keys: (headers: IncomingHttpHeaders): string[] => Object.keys(headers),
  get: (headers: IncomingHttpHeaders, name: string) => headers[name],
};

/** Begins the span of each sampled request. Another one hands on the traceparent with which it came, if any. */
export const spanOfRequest =
  (tracer: Tracer, isSampled: IsSampled): Step =>
  (next) =>
  (req, res) => {
    const state = stateOf(req);
    if (state.isOfSupervisor) {
      next(req, res);
      return;
    }
    const { headers } = req;
    const parent =
      headers["traceparent"] === undefined
        ? ROOT_CONTEXT
        : propagator.extract(ROOT_CONTEXT, headers, HEADERS);
    const given = trace.getSpanContext(parent);
    if (isSampled(given)) {
      const span = tracer.startSpan(state.method, { kind: SpanKind.SERVER }, parent);
      state.trace = new RequestTrace(span, parent);
      // After the listener by which `begin` notes the status.
      res.on("close", () => end(span, state));
    } else if (given !== undefined) {
      state.trace = { traceId: given.traceId, spanId: given.spanId, isSampled: false };
    }
    next(req, res);
  };

/** Like the log it has no path, since that may hold an address. */
function end(span: Span, state: RequestState): void {
  const { method, route, status } = state;
  if (route !== undefined) span.updateName(`${method} ${route}`);
  span.setAttributes({
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "dex.request_id": state.id,
    "dex.cache": state.cache,
    "dex.answered_as": state.answeredAs,
  });
  if (status >= 500) {
    span.setAttribute("error.type", String(status));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** Takes what a request gives by `traceparent`. */
type IsSampled = (given: SpanContext | undefined) => boolean;

export interface Sampling {
  /** The value of OTEL_TRACES_SAMPLER. */
  sampler: string;
  ratio: number;
}

/** Decides before anything is made for a request. */
export function samplingBy({ sampler, ratio }: Sampling): IsSampled {
  const believesParent = sampler.startsWith("parentbased_");
  const share = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : ratio;
  const byId = new TraceIdRatioBasedSampler(share);
  return (given) => {
    // A trace that begins here has no id yet by which another service would decide.
    if (given === undefined) return Math.random() < share;
    if (believesParent) return (given.traceFlags & TraceFlags.SAMPLED) !== 0;
    const { decision } = byId.shouldSample(ROOT_CONTEXT, given.traceId);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  };
}
