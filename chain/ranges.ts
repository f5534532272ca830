// Reads a long stretch of blocks in ranges that grow and shrink with what the node takes.
import type { BlockFact, Decoder } from "./exchange-facts.ts";
import { RangeRefused } from "./requests.ts";
import type { ChainSource, Range } from "./source.ts";

/** The first range, in blocks. */
const FIRST = 1000;
/** The longest, in blocks. */
const LONGEST = 100_000;
/** How many facts a range should have: they are one transaction. */
const FACTS = 20_000;

export interface Stretch {
  from: number;
  to: number;
  /** The block before the stretch, where it is known. */
  before?: { number: number; hash: string | null } | undefined;
  /** Only logs of these; else all that the decoder reads. */
  topics?: Decoder["topics"] | undefined;
  /** What a range waits for before it is read while the one before it is being used; by default for nothing. */
  readAheadAfter?: () => Promise<unknown>;
}

/** What a node takes of all logs, and of some: learned over all sessions. */
const learned = new WeakMap<ChainSource, { all: RangeSize; some: RangeSize }>();

function sizeOf(source: ChainSource, topics: Stretch["topics"]): RangeSize {
  const sizes = learned.get(source) ?? { all: new RangeSize(), some: new RangeSize() };
  learned.set(source, sizes);
  return topics === undefined ? sizes.all : sizes.some;
}

/** The ranges of a stretch in order, each read while the one before it is being used. */
export async function* readRanges(
  source: ChainSource,
  { from, to, before, topics, readAheadAfter = () => Promise.resolve() }: Stretch,
): AsyncGenerator<Range<BlockFact>> {
  const size = sizeOf(source, topics);
  const known = source.knownFrom(from);
  /** The longest range from `start` on that the node takes. */
  const read = async (start: number, last: Stretch["before"]): Promise<Range<BlockFact>> => {
    for (;;) {
      const end = Math.min(to, start + size.blocks - 1);
      try {
        const range = await source.range(start, end, last, topics, known);
        known.add(range.found);
        size.taken(end - start + 1, range.facts.length);
        return range;
      } catch (error) {
        if (!(error instanceof RangeRefused) || end === start) throw error;
        size.refused(end - start + 1, error.suggested && error.suggested - start + 1);
      }
    }
  };
  let ahead: Promise<Range<BlockFact>> | undefined;
  for (let start = from, last = before; start <= to;) {
    const range = await (ahead ?? read(start, last));
    last = range.end;
    start = range.end.number + 1;
    const next = start;
    ahead = next > to ? undefined : readAheadAfter().then(() => read(next, range.end));
    // It is awaited above, or given up.
    ahead?.catch(() => undefined);
    yield range;
  }
}

/** Grows until the node refuses, or a range has as many facts as a transaction should have. */
export class RangeSize {
  blocks = FIRST;
  /** What was refused lately; it grows again, since the blocks ahead may have fewer logs. */
  #ceiling = LONGEST;

  taken(blocks: number, facts: number): void {
    this.#ceiling = Math.min(LONGEST, this.#ceiling * 1.05 + 1);
    const wanted = facts === 0 ? blocks * 2 : (blocks * FACTS) / facts;
    this.blocks = bounded(Math.min(wanted, blocks * 2), this.#ceiling);
  }

  refused(blocks: number, suggested?: number): void {
    const half = Math.floor(blocks / 2);
    const next = suggested !== undefined && suggested > 0 && suggested < blocks ? suggested : half;
    this.#ceiling = Math.max(1, next);
    this.blocks = bounded(next, LONGEST);
  }
}

const bounded = (blocks: number, max: number): number =>
  Math.max(1, Math.floor(Math.min(blocks, max)));
