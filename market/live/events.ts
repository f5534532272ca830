// The events that clients get of a step.
import type { CurrentPlace, Place, Retraction } from "../place.ts";
import type { ResetReason, Step } from "./changes.ts";
import type { Change, Topic } from "./topic.ts";

export type LiveEvent =
  | { event: "reset"; reason: ResetReason | "changed" }
  | { event: "retract"; place: Place; retraction: Retraction }
  | { event: "update"; place: CurrentPlace; changes: [Topic, Change][]; more: boolean };

interface Circumstances {
  /** The greatest id of a trade that the clients have. */
  trade: number;
  /** Whether there is an update also where nothing has changed: the clients learn their place. */
  isFirst?: boolean;
}

/** The events of those that follow these topics. */
export function eventsOf(
  { place, retraction, changes, more }: Step,
  topics: readonly Topic[],
  { trade, isFirst = false }: Circumstances,
): LiveEvent[] {
  const events: LiveEvent[] = [];
  if (retraction !== undefined) {
    const { block } = retraction;
    events.push({ event: "retract", place: { ...place, block: block ?? -1, trade }, retraction });
  }
  const own = topics.flatMap((topic): [Topic, Change][] => {
    const change = changes.get(topic.name);
    return change === undefined ? [] : [[topic, change]];
  });
  if (isFirst || own.length > 0) events.push({ event: "update", place, changes: own, more });
  return events;
}
