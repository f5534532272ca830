// Work that goes on beside other work until it is stopped.

export interface RunningTask {
  /** Resolves when nothing is left running. */
  stop: () => Promise<void>;
}

/** Starts what runs until its signal. */
export function startTask(run: (signal: AbortSignal) => Promise<void>): RunningTask {
  const stopping = new AbortController();
  const running = run(stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
