// What each version of the interface wraps its answers in.

export interface Envelope {
  /** `time` is ISO 8601 UTC with milliseconds: the moment that `data` describes. */
  success(data: unknown, time: string): object;
  failure(message: string, time: string): object;
}

/** Time in whole Unix seconds, truncated; an error carries the empty object. */
export const v1Envelope: Envelope = {
  success: (data, time) => ({ data, time: unixSeconds(time), message: "success" }),
  failure: (message, time) => ({ data: {}, time: unixSeconds(time), message }),
};

/** Time in ISO 8601; an error carries no data. */
export const v2Envelope: Envelope = {
  success: (data, time) => ({ data, time, message: "success" }),
  failure: (message, time) => ({ time, message }),
};

const unixSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000);
