// What a follower gets at a head: the state to begin with, or what has changed since its place.
import {
  isBefore,
  placeText,
  readRetraction,
  readTimeOf,
  type CurrentPlace,
  type Place,
  type Retraction,
} from "../place.ts";
import {
  changeOf,
  type Bounds,
  type Change,
  type Found,
  type Print,
  type Reading,
  type Row,
  type Span,
  type States,
  type Topic,
  type TopicKind,
} from "./topic.ts";

/** Where a follower is, and what it has of its topics. */
export interface Line {
  place: Place & { time?: string | null };
  /** Empty for a client that comes back. */
  states: States;
}

/** Whether followers with these lines get the same from now on. */
export const isSameLine = (one: Line, other: Line): boolean =>
  placeText(one.place) === placeText(other.place) &&
  one.states.size === other.states.size &&
  [...one.states].every(([name, rows]) => areSame(rows, other.states.get(name)));

const areSame = (one: readonly Row[], other: readonly Row[] | undefined): boolean =>
  one === other || (one.length === other?.length && textOf(one) === textOf(other));

const textOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map(({ key, hash }) => [key, hash]));

/** What a follower gets, and where it is then. */
export interface Step {
  place: CurrentPlace;
  states: States;
  /** By the names of the topics, in their order; a topic that has not changed is left out. */
  changes: ReadonlyMap<string, Change>;
  /** What stands, if blocks that the follower has were taken back. */
  retraction: Retraction | undefined;
  /** Whether the place is before the head: this is a page, and the next one follows. */
  more: boolean;
  /** The names of topics that have missed more than is read. */
  cut: ReadonlySet<string>;
}

/** Why a follower must begin anew. */
export type ResetReason = "another history" | "unrecorded" | "cut";

const NO_STATES: States = new Map();

/** No bound matters for what a client begins with. */
const BEGINNING: Bounds = { trades: 0, candles: 0 };

/** The state of the topics; `known` has those that are read already. */
export async function begin(
  reading: Reading,
  topics: readonly Topic[],
  known: States = NO_STATES,
): Promise<Step> {
  const { now } = reading;
  const unread = those(topics, ({ kind, name }) => kind.isHistory === true || !known.has(name));
  const span = { since: undefined, upTo: now, bounds: BEGINNING };
  const states = merged(known, await readAll(reading, unread, span));
  const changes = changesOf(topics, states, () => true);
  return { ...{ place: now, states, changes }, retraction: undefined, more: false, cut: new Set() };
}

interface SinceOptions {
  line: Line;
  bounds: Bounds;
  /** What distinguishes rows. */
  print: Print;
  /** The states of this head that are read already. */
  known?: States;
}

/** What has changed of the topics, or why the follower must begin anew. */
export async function changesSince(
  reading: Reading,
  topics: readonly Topic[],
  { line, bounds, print, known = NO_STATES }: SinceOptions,
): Promise<Step | Exclude<ResetReason, "cut">> {
  const { db, now, once } = reading;
  const { place: from, states: before } = line;
  if (!isBefore(from, now)) return "another history";
  const found = await once(`retraction ${from.reorganisation} ${from.block}`, () =>
    readRetraction(db, from, now),
  );
  if (found === "unknown") return "unrecorded";
  const retraction = found === "none" ? undefined : found;
  const timeBefore = retraction
    ? retraction.time
    : (from.time ?? (await once(`time ${from.block}`, () => readTimeOf(db, from.block))));
  const since = { trade: from.trade, time: timeBefore ?? undefined };

  // Trades bound the page, and it has no state of the head unless it is the last.
  const paged = await readAll(reading, those(topics, isPaged), { since, upTo: now, bounds });
  const upTo = paged.upTo ?? now;
  const more = upTo !== now;
  const others = those(topics, (topic) =>
    topic.kind.isHistory === true ? !isPaged(topic) : !more && !known.has(topic.name),
  );
  const rest = await readAll(reading, others, { since, upTo, bounds });
  const states = merged(more ? NO_STATES : known, paged, rest);
  const cut = others.filter(
    ({ kind, name }) =>
      kind.bound !== undefined && (states.get(name)?.length ?? 0) >= bounds[kind.bound],
  );
  const isWhole = ({ kind, name }: Topic): boolean =>
    !before.has(name) || isPaged({ kind }) || (retraction !== undefined && kind.isHistory === true);
  const changes = changesOf(topics, states, isWhole, (topic, rows) =>
    changeOf(topic.kind, before.get(topic.name) ?? [], rows, print),
  );
  // New rows are compared with no later ones.
  const kept = new Map([...paged.states.keys()].map((name) => [name, []]));
  return {
    ...{ place: upTo, changes, retraction, more },
    states: merged(states, { states: kept }),
    cut: new Set(cut.map(({ name }) => name)),
  };
}

/** A follower's next step; `reset` is why it begins anew. */
export type Followed = Step & { reset?: ResetReason };

/** What a follower gets that has, if it has a line, what that line says. */
export async function follow(
  reading: Reading,
  topics: readonly Topic[],
  { line, ...options }: Omit<SinceOptions, "line"> & { line: Line | undefined },
): Promise<Followed> {
  if (line === undefined) return begin(reading, topics, options.known);
  const step = await changesSince(reading, topics, { line, ...options });
  if (typeof step === "object" && step.cut.size === 0) return step;
  const reset = typeof step === "string" ? step : "cut";
  return { ...(await begin(reading, topics, options.known)), reset };
}

/** The rows of other kinds are compared with those before; these are new ones only. */
const isPaged = ({ kind }: { kind: TopicKind }): boolean =>
  kind.isHistory === true && kind.bound === undefined;

/** The list itself where all of them hold: followers of the same list share what is read for it. */
const those = (topics: readonly Topic[], holds: (topic: Topic) => boolean): readonly Topic[] =>
  topics.every(holds) ? topics : topics.filter(holds);

async function readAll(reading: Reading, topics: readonly Topic[], span: Span): Promise<Found> {
  const [{ kind } = { kind: undefined }] = topics;
  if (kind === undefined) return { states: NO_STATES };
  const ofKind = those(topics, (topic) => topic.kind === kind);
  // What is of the head alone is the same for all followers.
  const key = kind.isHistory === true ? JSON.stringify(span) : "";
  const found = await reading.once(key, () => kind.read(reading, ofKind, span), ofKind);
  if (ofKind === topics) return found;
  const others = await readAll(
    reading,
    topics.filter((topic) => topic.kind !== kind),
    span,
  );
  return { states: merged(found.states, others), ...upToOf(found, others) };
}

/** One kind alone has pages. */
const upToOf = (...found: Found[]): Pick<Found, "upTo"> =>
  found.find(({ upTo }) => upTo !== undefined) ?? {};

/** One map is not copied: the followers that share it would take much memory. */
function merged(known: States, ...found: Found[]): States {
  const maps = [known, ...found.map(({ states }) => states)].filter(({ size }) => size > 0);
  const [first = NO_STATES, ...others] = maps;
  return others.length === 0 ? first : new Map(maps.flatMap((each) => [...each]));
}

function changesOf(
  topics: readonly Topic[],
  states: States,
  isWhole: (topic: Topic) => boolean,
  change: (topic: Topic, rows: NonNullable<ReturnType<States["get"]>>) => Change | undefined = () =>
    undefined,
): ReadonlyMap<string, Change> {
  const changes = new Map<string, Change>();
  for (const topic of topics) {
    const rows = states.get(topic.name);
    if (rows === undefined) continue;
    // The first event has no list without rows.
    const isEmpty = topic.kind.isHistory === true && rows.length === 0;
    const found = isWhole(topic)
      ? isEmpty
        ? undefined
        : { isWhole: true, rows, gone: [] }
      : change(topic, rows);
    if (found !== undefined) changes.set(topic.name, found);
  }
  return changes;
}
