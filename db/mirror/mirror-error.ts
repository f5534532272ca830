// Why a mirror does not go on.

const LONGEST = 1000;

/** On one line: a message has what the origin says, and a terminal obeys what controls it. */
function shown(message: string): string {
  const plain = message.replace(/\p{C}/gu, " ");
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
}

/** What the origin gives is refused: to ask again would not help. The message names what differs. */
export class MirrorError extends Error {
  override readonly name = "MirrorError";

  constructor(message: string, options?: ErrorOptions) {
    super(shown(message), options);
  }
}

/** The origin does not answer as it should at the moment: ask again. */
export class OriginUnavailable extends Error {
  override readonly name = "OriginUnavailable";
  readonly status: number | undefined;
  /** How long the origin asks to wait. */
  readonly retryMs: number | undefined;

  constructor(message: string, { status, retryMs, cause }: UnavailableOptions = {}) {
    super(shown(message), { cause });
    this.status = status;
    this.retryMs = retryMs;
  }
}

interface UnavailableOptions {
  status?: number;
  retryMs?: number | undefined;
  cause?: unknown;
}
