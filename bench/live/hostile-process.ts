// Plays hostile clients, in a process of its own, until it is killed.
import { startHostile, type HostileTarget, type Kind, type Tally } from "./hostile-clients.ts";

/** What the parent asks for. */
export type Order = { start: Kind; target: HostileTarget; clients: number } | { tell: true };

let tally: Tally | undefined;

process.on("message", (order: Order) => {
  if ("tell" in order) {
    process.send?.(tally);
    return;
  }
  const hostile = startHostile(order.start, order.target, order.clients);
  tally = hostile.tally;
  void hostile.begun.then(() => process.send?.(tally));
});
