// What an event has beside its place, for the plan of its nodes.
import type { Step } from "../../market/live/changes.ts";
import type { States, Topic, TopicKind } from "../../market/live/topic.ts";

export interface Payload {
  /** Whether there is an event, also where no block was taken back. */
  hasChanged: boolean;
  /** Whether the rows are the whole state. */
  whole: boolean;
  /** Of the rows that are new or have changed. */
  keys: string[];
  /** Of those that are gone. */
  removed: string[];
  /** Of the same rows as `keys`, where the plan reads none. */
  data: object[];
  /** The market of candles, and where they begin. */
  base?: string | undefined;
  quote?: string | undefined;
  interval?: string | number | undefined;
  from: string;
}

/** With the time, if there is one, in the form of GraphQL's other times. */
export const withTime = <Given extends object>(given: Given): Given =>
  "time" in given && typeof given.time === "string"
    ? { ...given, time: given.time.replace("Z", "000+00:00") }
    : given;

/** No candle begins at it. */
const NEVER = "infinity";

export function payloadOf(
  { field }: TopicKind,
  topics: readonly Topic[],
  { states, changes }: Step,
  before: States | undefined,
): Payload {
  const changed = [...changes.values()];
  const rows = changed.flatMap((change) => change.rows);
  const keys = rows.map(({ key }) => key);
  // A market that is registered no longer is no topic any more, if a client follows all.
  const dropped = [...(before ?? [])].filter(([name]) => !states.has(name));
  const gone = [...dropped.flatMap(([, each]) => each), ...changed.flatMap((each) => each.gone)];
  const [topic] = topics;
  return {
    hasChanged: rows.length + gone.length > 0,
    whole: changed.some(({ isWhole }) => isWhole),
    keys,
    removed: gone.map(({ key }) => key),
    data: field.nodes === "data" ? rows.map(({ data }) => withTime(data)) : [],
    ...{ base: topic?.pair?.base, quote: topic?.pair?.quote, interval: topic?.argument },
    from: keys[0] ?? NEVER,
  };
}
