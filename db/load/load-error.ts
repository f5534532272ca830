// What is wrong with the data, as opposed to a fault of ours or of the database.

/** Stops a load; the message is for whoever made the data, and complete without a stack. */
export class LoadError extends Error {
  override name = "LoadError";
}
