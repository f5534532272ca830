// The envelopes of REST v1 and v2, and those of the listing formats.
import { z } from "zod";
import { isoMoment } from "../market/records.ts";

export interface Envelope {
  /** Whose failures it has, as OpenAPI names them. */
  failures: "v1" | "v2" | "udf";
  /** `time` is ISO 8601 UTC with milliseconds. */
  success(data: unknown, time: string): unknown;
  failure(message: string, time: string): object;
  successSchema(data: z.ZodType): z.ZodType;
  failureSchema: z.ZodType;
}

const unixMoment = z.int().min(0);

const ofData = (unit: string): string =>
  `The moment that the data describe, the exchange's head or a past block, ${unit}, truncated.`;
const ofFailure = (unit: string): string =>
  `The head that the service saw last, else its clock, ${unit}.`;
const SECONDS = "in whole seconds of Unix time";
const ISO = "in ISO 8601 UTC with milliseconds";

const success = z.literal("success");
const failureMessage = z.string().describe("What was wrong, and what is accepted.");

/** Time in whole Unix seconds, truncated; an error carries the empty object. */
export const v1Envelope: Envelope = {
  failures: "v1",
  success: (data, time) => ({ data, time: unixSeconds(time), message: "success" }),
  failure: (message, time) => ({ data: {}, time: unixSeconds(time), message }),
  successSchema: (data) =>
    z.object({ data, time: unixMoment.describe(ofData(SECONDS)), message: success }),
  failureSchema: z
    .object({
      data: z.object({}),
      time: unixMoment.describe(ofFailure(SECONDS)),
      message: failureMessage,
    })
    .meta({ id: "V1Failure" }),
};

/** Time in ISO 8601; an error carries no data. */
export const v2Envelope: Envelope = {
  failures: "v2",
  success: (data, time) => ({ data, time, message: "success" }),
  failure: (message, time) => ({ time, message }),
  successSchema: (data) =>
    z.object({ data, time: isoMoment.describe(ofData(ISO)), message: success }),
  failureSchema: z
    .object({
      time: isoMoment.describe(ofFailure(ISO)),
      message: failureMessage,
    })
    .meta({ id: "V2Failure" }),
};

/** The data alone, as most listing formats ask for them; errors are those of v2. */
export const bareEnvelope: Envelope = {
  ...v2Envelope,
  success: (data) => data,
  successSchema: (data) => data,
};

/** TradingView's: the data alone; an error has a status word and a message. */
export const udfEnvelope: Envelope = {
  ...bareEnvelope,
  failures: "udf",
  failure: (message) => ({ s: "error", errmsg: message }),
  failureSchema: z
    .object({ s: z.literal("error"), errmsg: failureMessage })
    .meta({ id: "UDFFailure" }),
};

const unixSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000);
