// Runs the indexer: a session after the other, for as long as what ends them may pass.
import { setTimeout as sleep } from "node:timers/promises";
import { Halt } from "./halt.ts";
import type { IndexerOptions } from "./indexer-options.ts";
import { OfferChecks } from "./offer-checks.ts";
import { readingOf } from "./chain-reading.ts";
import { Repeating } from "./repeating.ts";
import { RangeRefused, Refused, Unavailable } from "./requests.ts";
import { runSession } from "./session.ts";

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;

/** Runs until the signal; then it resolves. Throws a `Halt` where it cannot be sure of what is right. */
export async function runIndexer(options: IndexerOptions): Promise<void> {
  const { signal, onEvent, taker, backoffMs = FIRST_RETRY_MS, repeatMs } = options;
  const reading = readingOf(options, () => checks.auditAgain());
  const checks: OfferChecks = new OfferChecks(reading);
  const failures = new Repeating(repeatMs);
  let retryMs = backoffMs;
  const onProgress = (): void => {
    retryMs = backoffMs;
    if (failures.end()) onEvent?.({ event: "recovered" });
  };
  const rule = taker === "sender" ? "the sender of its transaction" : "the taker of its event";
  const reason = `The taker of each trade is ${rule} (--taker, TAKER)`;
  onEvent?.({ event: "notice", reason });
  while (!signal.aborted) {
    try {
      await runSession({ ...reading, checks, onProgress });
    } catch (error) {
      if (options.signal.aborted) return;
      if (error instanceof Halt || !isTransient(error)) throw error;
      const reason = (error as Error).message;
      if (failures.isDue(reason)) onEvent?.({ event: "failure", reason });
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  }
}

/** Whether it may pass: a node or a database that is not there, or says that it is busy. */
function isTransient(error: unknown): boolean {
  if ([Unavailable, Refused, RangeRefused].some((kind) => error instanceof kind)) return true;
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code === "string") return /^(E[A-Z]+|08...|57P..|53...|40...|55P03|57014)$/.test(code);
  return /Connection terminated|Client has encountered a connection error|timeout expired/i.test(
    message ?? "",
  );
}
