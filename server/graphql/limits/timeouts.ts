// Tells grafast's two timeouts from its other errors: it marks them by a symbol that it keeps to
// itself, and by a message that it may reword.
import type { SafeError } from "postgraphile/grafast";

/** What the client of a query that took too long is told; undefined for another error. */
export function timeoutMessage({ message, extensions }: SafeError): string | undefined {
  const marks = Object.getOwnPropertySymbols(extensions ?? {}).map((mark) => mark.description);
  if (!marks.includes("timeout")) return undefined;
  return message.includes("plan")
    ? "The query took too long to plan: simplify it."
    : "The query took too long: ask for smaller pages, or by what an index serves.";
}
