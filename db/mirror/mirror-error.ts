// Why a mirror does not go on.

/** What the origin gives is refused: to ask again would not help. The message names what differs. */
export class MirrorError extends Error {
  override readonly name = "MirrorError";
}

/** The origin does not answer as it should at the moment: ask again. */
export class OriginUnavailable extends Error {
  override readonly name = "OriginUnavailable";
  readonly status: number | undefined;
  /** How long the origin asks to wait. */
  readonly retryMs: number | undefined;

  constructor(message: string, { status, retryMs, cause }: UnavailableOptions = {}) {
    super(message, { cause });
    this.status = status;
    this.retryMs = retryMs;
  }
}

interface UnavailableOptions {
  status?: number;
  retryMs?: number | undefined;
  cause?: unknown;
}
