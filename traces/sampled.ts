// Decides which requests are sampled, before anything is made for them.
import { ROOT_CONTEXT, TraceFlags, type SpanContext } from "@opentelemetry/api";
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base";

/** Takes what a request gives by `traceparent`. */
export type IsSampled = (given: SpanContext | undefined) => boolean;

export interface Sampling {
  /** The value of OTEL_TRACES_SAMPLER. */
  sampler: string;
  ratio: number;
}

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
