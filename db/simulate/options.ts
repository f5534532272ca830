// The command line of `npm run simulate`, checked.
import { INTEGER } from "../integer-text.ts";

export const USAGE = `Usage: npm run simulate -- [options]

Trades a simulated exchange into the database: that of DATABASE_OWNER_URL, else of
DATABASE_URL, else the running embedded one.

History (the default): in an empty database it ends now; run again, it follows the head.
  --days D      how many days, 1 to 3650; default 30
  --trades N    how many trades, 1 to 10000000; default 20000
  --until TIME  when it ends, e.g. 2026-01-31T12:00:00Z; default now
  --csv DIR     write tokens.csv, pairs.csv, offers.csv, trades.csv there, and use no database

Live:
  --rate R      trade as time goes by, so many trades a second: above 0, up to 1000
  --for S       stop after so many seconds, 1 to 31536000; default: when interrupted

Both:
  --seed N      0 to 4294967295; default 1. The same seed, days, trades and end give the same files
  --help        show this`;

export const OPTIONS = {
  days: { type: "string" },
  trades: { type: "string" },
  until: { type: "string" },
  csv: { type: "string" },
  rate: { type: "string" },
  for: { type: "string" },
  seed: { type: "string" },
} as const;

type Name = keyof typeof OPTIONS;

export type SimulateOptions =
  | { mode: "live"; seed: number; rate: number; seconds: number | undefined }
  | {
      mode: "history";
      seed: number;
      days: number;
      trades: number;
      /** Not given: now. */
      until: Date | undefined;
      csv: string | undefined;
    };

/** An option that is not accepted; the message is one line that names it and what is accepted. */
export class OptionError extends Error {
  override name = "OptionError";
}

const HISTORY_ONLY = ["days", "trades", "until", "csv"] as const;

/** Throws an OptionError for a value that is not accepted. */
export function readOptions(given: Partial<Record<Name, string>>, now: Date): SimulateOptions {
  const seed = integer("seed", given.seed, { from: 0, to: 4_294_967_295 }) ?? 1;

  if (given.rate !== undefined) {
    const misplaced = HISTORY_ONLY.find((name) => given[name] !== undefined);
    if (misplaced !== undefined) {
      throw new OptionError(
        `--${misplaced} is for history, and --rate trades live: give one of them`,
      );
    }
    const rate = positive("rate", given.rate, 1000);
    const seconds = integer("for", given.for, { from: 1, to: 31_536_000 });
    return { mode: "live", seed, rate, seconds };
  }

  if (given.for !== undefined) throw new OptionError("--for is for trading live: give --rate too");
  if (given.csv === "") throw new OptionError("--csv must be a folder, but is empty");
  return {
    mode: "history",
    seed,
    days: integer("days", given.days, { from: 1, to: 3650 }) ?? 30,
    trades: integer("trades", given.trades, { from: 1, to: 10_000_000 }) ?? 20_000,
    until: time("until", given.until, now),
    csv: given.csv,
  };
}

function integer(
  name: Name,
  text: string | undefined,
  { from, to }: { from: number; to: number },
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (INTEGER.test(text) && value >= from && value <= to) return value;
  throw new OptionError(`--${name} must be a whole number from ${from} to ${to}, but is '${text}'`);
}

function positive(name: Name, text: string, max: number): number {
  const value = Number(text);
  if (/^(0|[1-9]\d*)(\.\d+)?$/.test(text) && value > 0 && value <= max) return value;
  throw new OptionError(`--${name} must be a number above 0, up to ${max}, but is '${text}'`);
}

function time(name: Name, text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined;
  const value = new Date(text);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) && !Number.isNaN(value.getTime());
  // 30 February would be read as a day in March.
  if (!isTime || value.toISOString().slice(0, 19) !== text.slice(0, 19)) {
    throw new OptionError(
      `--${name} must be a time in UTC like 2026-01-31T12:00:00Z, but is '${text}'`,
    );
  }
  if (value > now) throw new OptionError(`--${name} must not be in the future, but is '${text}'`);
  return value;
}
