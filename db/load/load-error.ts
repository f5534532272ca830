// What is wrong with the data, as opposed to a fault of ours or of the database.

/** Stops a load; the message is for whoever made the data, and complete without a stack. */
export class LoadError extends Error {
  override name = "LoadError";
}

/** Of the database's own rules: a constraint, a value out of range, what a function raises. */
const REFUSED = /^(22...|23...|P0001)$/;

/**
 * The LoadError for data that the database's own rules refuse, though each row alone is right: for
 * instance a token's new symbol that makes two pairs the same. Any other error as it is.
 */
export function refusedByDatabase(error: unknown, what = "the database refuses it"): unknown {
  const { code, message, detail } = (error ?? {}) as Record<string, unknown>;
  if (error instanceof LoadError || typeof code !== "string" || !REFUSED.test(code)) return error;
  const told = typeof detail === "string" ? `${String(message)}: ${detail}` : String(message);
  return new LoadError(`${what}: ${told.replace(/\.$/, "")}`, { cause: error });
}
