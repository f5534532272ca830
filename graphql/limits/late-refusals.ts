// Refuses what is too much with a delay, and at a bounded rate.
import type { Refuse } from "../../http/refusal.ts";

/**
 * A refused client that sends its next request at once, as an attacker does, would take the event loop from
 * the operations in flight. So a refusal waits for 50 ms, and at most 2,000 leave in a second, which take
 * about a fifth of the processor: 2,000 such connections wait for a second each.
 */
const REFUSE_AFTER_MS = 50;
const BATCH_EVERY_MS = 10;
const BATCH_SIZE = 20;

export function makeLateRefusals(refuse: Refuse): Refuse {
  const waiting: { due: number; res: { destroyed: boolean }; send: () => void }[] = [];
  const sendBatch = (): void => {
    const now = performance.now();
    for (let sent = 0; sent < BATCH_SIZE && (waiting[0]?.due ?? Infinity) <= now;) {
      const next = waiting.shift();
      // A client that has gone away takes no turn of another one.
      if (next === undefined || next.res.destroyed) continue;
      next.send();
      sent += 1;
    }
    if (waiting.length > 0) setTimeout(sendBatch, BATCH_EVERY_MS).unref();
  };
  return (req, res, refusal) => {
    if (waiting.length === 0) setTimeout(sendBatch, REFUSE_AFTER_MS).unref();
    const due = performance.now() + REFUSE_AFTER_MS;
    waiting.push({ due, res, send: () => refuse(req, res, refusal) });
  };
}
