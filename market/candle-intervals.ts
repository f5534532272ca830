// The intervals of candles.

const MINUTES = {
  ...{ "1m": 1, "5m": 5, "15m": 15, "30m": 30 },
  ...{ "1h": 60, "4h": 240, "1d": 1440 },
};

export type Interval = keyof typeof MINUTES;

export const INTERVALS = Object.keys(MINUTES) as [Interval, ...Interval[]];

export const isInterval = (text: unknown): text is Interval =>
  INTERVALS.some((each) => each === text);

/** How many intervals two times are in or between, both in ISO 8601. */
export const intervalsBetween = (first: string, last: string, interval: Interval): number =>
  1 +
  (Date.parse(startOf(last, interval)) - Date.parse(startOf(first, interval))) /
    (MINUTES[interval] * 60_000);

/** No block is earlier. */
const FIRST_TIME = "0001-01-01T00:00:00Z";

/** The start of the interval that a time is in, both in ISO 8601. */
export function startOf(time: string | undefined, interval: Interval): string {
  const ms = MINUTES[interval] * 60_000;
  return new Date(Math.floor(Date.parse(time ?? FIRST_TIME) / ms) * ms).toISOString();
}
