// The end of an indexer that cannot be sure of what is right.

/** Exit codes of `npm run index`. */
export const EXIT = {
  failed: 1,
  usage: 2,
  /** A reorganisation goes deeper than what is final. */
  deepReorganisation: 3,
  /** The node's answers contradict one another, the database, or the kind of exchange. */
  contradiction: 4,
} as const;

/** Stops the indexer. Nothing is written that the message speaks of. */
export class Halt extends Error {
  override readonly name = "Halt";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.contradiction) {
    super(message);
    this.exitCode = exitCode;
  }
}
