// Turns signals of the process into abort signals.
import { performance } from "node:perf_hooks";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** One Ctrl-C may come twice: from the terminal and from npm. */
const SAME_MS = 250;

export interface StopSignals {
  /** Aborted by the first signal: requests in flight are answered. */
  stop: AbortSignal;
  /** Aborted by a second: requests in flight are abandoned. */
  hurry: AbortSignal;
}

export function stopSignals(process: NodeJS.EventEmitter): StopSignals {
  const stop = new AbortController();
  const hurry = new AbortController();
  let first: number | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (first === undefined) {
        first = performance.now();
        stop.abort();
      } else if (performance.now() - first > SAME_MS) hurry.abort();
    });
  }
  return { stop: stop.signal, hurry: hurry.signal };
}

/** Waits for the work until the signal. Rejects if the work does so before. */
export async function unlessAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([work, aborted]);
}
