// Measures several entries alternately, in rounds, so that other load on the machine affects all of them.
import { log } from "../harness.ts";
import type { Burst, Load } from "./client.ts";
import { median, percentile } from "./statistics.ts";

export interface Entry {
  case: string;
  contender: string;
  /** Entries of a case with the same value are compared with each other. */
  match?: string | undefined;
  ask: (load: Load) => Promise<Burst>;
  /** Microseconds of processor time that the server has used so far; NaN except on Linux. */
  processorTime: () => Promise<number>;
}

export interface Measured {
  case: string;
  contender: string;
  /** Answers per second: the median of the rounds. */
  rate: number;
  /** Milliseconds, over all rounds. */
  p50: number;
  p99: number;
  /**
   * Microseconds of the server's processor time per answer, the median of the rounds. It hardly depends on
   * other load on the machine. NaN except on Linux.
   */
  cpu: number;
}

interface Round extends Burst {
  cpu: number;
}

/** Number of rounds, and seconds of warm-up of each entry. */
interface Rounds {
  rounds: number;
  warmUp: number;
}

/**
 * Measures all entries in turns. Entries of a match share a turn, in alternating slices. Each entry is
 * warmed up first, because a program gets faster while it runs, more slowly the more code it has.
 */
export async function alternate(
  entries: Entry[],
  { rounds, warmUp, ...load }: Load & Rounds,
): Promise<Measured[]> {
  const bursts = new Map<Entry, Round[]>();
  const warm = new Map<Entry, number>();
  for (const entry of entries) {
    const { latencies } = await entry.ask({ ...load, seconds: warmUp });
    warm.set(entry, median(latencies));
    bursts.set(entry, []);
  }
  const turns = turnsOf(entries);
  for (let round = 0; round < rounds; round += 1) {
    const isForth = round % 2 === 0;
    for (const turn of isForth ? turns : turns.toReversed()) {
      const slices = slicesOf(turn, load.seconds, warm);
      const taken = await takeTurn(isForth ? turn : turn.toReversed(), load, slices);
      for (const [entry, burst] of taken) bursts.get(entry)?.push(burst);
    }
  }
  return entries.map((entry) => {
    const measured = summarise(entry, bursts.get(entry) ?? []);
    log(
      `  ${measured.case} · ${measured.contender}: ${measured.rate.toFixed(0)}/s, ` +
        `p50 ${measured.p50.toFixed(2)} ms, p99 ${measured.p99.toFixed(2)} ms, ` +
        `${measured.cpu.toFixed(1)} µs of processor time`,
    );
    return measured;
  });
}

/** Groups entries of the same match and case. */
const turnsOf = (entries: Entry[]): Entry[][] => [
  ...Map.groupBy(entries, (one) => `${one.case}\n${one.match ?? one.contender}`).values(),
];

/** Unmeasured time at the start of a turn, because a process is slower after a pause. */
const LEAD_IN_SECONDS = 0.2;

/** Length of a slice. Slices are short because other load on the machine changes within seconds. */
const SLICE_SECONDS = 0.1;

/** Minimum length of a slice in answers, because not all connections are busy at its end. */
const ANSWERS_OF_A_SLICE = 50;

/** The number of slices in a turn; 1 if answers take too long for several. */
function slicesOf(turn: Entry[], seconds: number, latencies: Map<Entry, number>): number {
  if (turn.length === 1) return 1;
  const longestMs = Math.max(...turn.map((entry) => latencies.get(entry) ?? Infinity));
  const slice = Math.max(SLICE_SECONDS, (longestMs / 1000) * ANSWERS_OF_A_SLICE);
  return Math.max(1, Math.round(seconds / slice));
}

/** Measures each entry for `load.seconds`, divided into slices. */
async function takeTurn(turn: Entry[], load: Load, slices: number): Promise<Map<Entry, Round>> {
  const taken = new Map<Entry, Slice[]>(turn.map((entry) => [entry, []]));
  for (let slice = 0; slice < slices; slice += 1) {
    for (const entry of slice % 2 === 0 ? turn : turn.toReversed()) {
      if (slice === 0) await entry.ask({ ...load, seconds: LEAD_IN_SECONDS });
      taken.get(entry)?.push(await timed(entry, { ...load, seconds: load.seconds / slices }));
    }
  }
  return new Map([...taken].map(([entry, slices]) => [entry, asRound(slices)]));
}

interface Slice extends Burst {
  /** Microseconds of the server's processor time in the slice. */
  used: number;
}

async function timed(entry: Entry, load: Load): Promise<Slice> {
  const before = await entry.processorTime();
  const burst = await entry.ask(load);
  return { ...burst, used: (await entry.processorTime()) - before };
}

function asRound(slices: Slice[]): Round {
  const latencies = slices.flatMap((slice) => slice.latencies);
  const seconds = sum(slices.map((slice) => slice.latencies.length / slice.rate));
  const cpu = sum(slices.map((slice) => slice.used)) / latencies.length;
  return { latencies, rate: latencies.length / seconds, cpu };
}

const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0);

function summarise(entry: Entry, bursts: Round[]): Measured {
  const latencies = bursts.flatMap((burst) => burst.latencies);
  return {
    case: entry.case,
    contender: entry.contender,
    rate: median(bursts.map(({ rate }) => rate)),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpu: median(bursts.map(({ cpu }) => cpu)),
  };
}
