// The errors of a load: for invalid data, as opposed to a fault of the program or the database, and for a commit without answer.

/** Stops a load. The message is for the author of the data, and complete without a stack. */
export class LoadError extends Error {
  override name = "LoadError";
}

/** The connection was lost at the commit, which may have been done. */
export class CommitUnanswered extends Error {
  override name = "CommitUnanswered";
}

/** SQLSTATEs of invalid data: a constraint, a value out of range, an exception raised in a function. */
const REFUSED = /^(22...|23...|P0001)$/;

/**
 * Turns an error by which the database refuses data into a LoadError, and returns any other error
 * unchanged. The database finds what no row shows alone, such as two pairs that get the same name by
 * a token's new symbol.
 */
export function refusedByDatabase(error: unknown, what = "the database refuses it"): unknown {
  const { code, message, detail } = (error ?? {}) as Record<string, unknown>;
  if (error instanceof LoadError || typeof code !== "string" || !REFUSED.test(code)) return error;
  const reason = typeof detail === "string" ? `${String(message)}: ${detail}` : String(message);
  return new LoadError(`${what}: ${reason.replace(/\.$/, "")}`, { cause: error });
}
