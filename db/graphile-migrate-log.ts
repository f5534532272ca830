// A logger for graphile-migrate that prints each line once, even if the work is retried.
import { Logger } from "@graphile/logger";

/** Errors are not printed, because graphile-migrate throws them too. */
export function logTo(print: (line: string) => void): Logger {
  const printed = new Set<string>();
  return new Logger(() => (level: string, message) => {
    // After a lost connection graphile-migrate logs this error and ends the process.
    if (level === "error" && message.includes("PgPool")) console.error(message);
    if (level === "error" || level === "debug" || printed.has(message)) return;
    printed.add(message);
    print(message);
  });
}
