// Counts the operations that are refused for load, for the log: a line for each would be most of it.
import type { OnOver } from "../../http/request.ts";

/** How often the log counts the refusals, in milliseconds. */
const COUNT_MS = 10_000;

/** Counts the requests that were refused for load, for the log. */
export function countRefusals(warn: (line: string) => void): OnOver {
  const counts = new Map<string, number>();
  const report = (): void => {
    const codes = [...counts].map(([code, count]) => `${count} by ${code}`).join(", ");
    counts.clear();
    warn(`GraphQL requests refused in ${COUNT_MS / 1000} s before they were read: ${codes}.`);
  };
  return ({ errors }) => {
    if (counts.size === 0) setTimeout(report, COUNT_MS).unref();
    const [code = "clients that left before"] = errors ?? [];
    counts.set(code, (counts.get(code) ?? 0) + 1);
  };
}
