// What graphile-migrate tells while it works: each line once, however often it is tried.
import { Logger } from "@graphile/logger";

/** What is thrown is told by whoever catches it. */
export function logTo(print: (line: string) => void): Logger {
  const told = new Set<string>();
  return new Logger(() => (level: string, message) => {
    // Of a lost connection it says so, and then ends the process.
    if (level === "error" && message.includes("PgPool")) console.error(message);
    if (level === "error" || level === "debug" || told.has(message)) return;
    told.add(message);
    print(message);
  });
}
