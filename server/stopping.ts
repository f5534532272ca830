// When to stop, and when to stop at once.
import { performance } from "node:perf_hooks";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** One Ctrl-C may come twice: from the terminal, and handed on by npm. */
const SAME_MS = 250;

export interface StopSignals {
  /** Aborted by the first signal: what was begun is to be answered. */
  stop: AbortSignal;
  /** Aborted by a second: what was begun is to be given up. */
  hurry: AbortSignal;
}

/** Listens to the signals by which a process is asked to end. */
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

/** Waits for this work, but not past the signal. Rejects only where the work does so before. */
export async function unlessAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([work, aborted]);
}
