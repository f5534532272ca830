// Measures several things side by side: one after another, round after round, so that what the
// machine does meanwhile meets all of them.
import type { Burst, Load } from "./client.ts";
import { median, percentile } from "./statistics.ts";

export interface Entry {
  case: string;
  contender: string;
  /** Those of a case that are held against each other have the same, and stand one after the other. */
  match?: string | undefined;
  ask: (load: Load) => Promise<Burst>;
  /** Microseconds of processor time that the server has used until now; undefined off Linux. */
  processorTime?: () => Promise<number | undefined>;
}

export interface Measured {
  case: string;
  contender: string;
  /** Answers a second: the median of the rounds, and each. */
  rate: number;
  rates: number[];
  /** Milliseconds, over all rounds. */
  p50: number;
  p99: number;
  answers: number;
  /**
   * Microseconds of the server's processor time an answer, the median of the rounds: what is left
   * when others use the machine too. Undefined where the system, or the contender, does not tell.
   */
  cpu?: number | undefined;
}

interface Round extends Burst {
  cpu: number | undefined;
}

/** How often each is measured, and for how many seconds it is asked before any is. */
interface Rounds {
  rounds: number;
  warmUp: number;
}

/**
 * Asks all of them in turn; those of a match take theirs together, in slices. A program gets faster while
 * it runs, the later the more code it has: before it is warm, it is compared by that.
 */
export async function alternate(
  entries: Entry[],
  { rounds, warmUp, ...load }: Load & Rounds,
  log: (line: string) => void,
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
        `p50 ${measured.p50.toFixed(2)} ms, p99 ${measured.p99.toFixed(2)} ms` +
        (measured.cpu === undefined ? "" : `, ${measured.cpu.toFixed(1)} µs of processor time`),
    );
    return measured;
  });
}

/** Entries that follow each other in the same match of the same case. */
function turnsOf(entries: Entry[]): Entry[][] {
  const turns: Entry[][] = [];
  for (const entry of entries) {
    const before = turns.at(-1)?.[0];
    const isTheSame = entry.match !== undefined && entry.match === before?.match;
    if (isTheSame && entry.case === before.case) turns.at(-1)?.push(entry);
    else turns.push([entry]);
  }
  return turns;
}

/** A program that has waited for its turn is slower at first, the more so the more it keeps. */
const LEAD_IN_SECONDS = 0.2;

/** What the machine does besides changes within seconds: those of a match change places this often, */
const SLICE_SECONDS = 0.1;

/** or less often, so that a slice has the time of about so many answers: in its last not all are busy. */
const ANSWERS_OF_A_SLICE = 50;

/** How many slices these have in a turn; one where an answer of any takes too long for several. */
function slicesOf(turn: Entry[], seconds: number, latencies: Map<Entry, number>): number {
  if (turn.length === 1) return 1;
  const longestMs = Math.max(...turn.map((entry) => latencies.get(entry) ?? Infinity));
  const slice = Math.max(SLICE_SECONDS, (longestMs / 1000) * ANSWERS_OF_A_SLICE);
  return Math.max(1, Math.round(seconds / slice));
}

/** Gives each of them `load.seconds`, in so many slices. */
async function takeTurn(turn: Entry[], load: Load, slices: number): Promise<Map<Entry, Round>> {
  const taken = new Map<Entry, Slice[]>(turn.map((entry) => [entry, []]));
  for (let slice = 0; slice < slices; slice += 1) {
    for (const entry of slice % 2 === 0 ? turn : turn.toReversed()) {
      // pgbench, whose processor time is not asked for, is begun anew each time.
      if (slice === 0 && entry.processorTime) {
        await entry.ask({ ...load, seconds: LEAD_IN_SECONDS });
      }
      taken.get(entry)?.push(await timed(entry, { ...load, seconds: load.seconds / slices }));
    }
  }
  return new Map([...taken].map(([entry, slices]) => [entry, asRound(slices)]));
}

interface Slice extends Burst {
  /** Microseconds of the server's processor time for all of it. */
  used: number | undefined;
}

async function timed(entry: Entry, load: Load): Promise<Slice> {
  const before = await entry.processorTime?.();
  const burst = await entry.ask(load);
  const after = await entry.processorTime?.();
  return {
    ...burst,
    used: before === undefined || after === undefined ? undefined : after - before,
  };
}

function asRound(slices: Slice[]): Round {
  const latencies = slices.flatMap((slice) => slice.latencies);
  const seconds = sum(slices.map((slice) => slice.latencies.length / slice.rate));
  const used = slices.map((slice) => slice.used).filter((used) => used !== undefined);
  return {
    latencies,
    rate: latencies.length / seconds,
    cpu: used.length === slices.length ? sum(used) / latencies.length : undefined,
  };
}

const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0);

function summarise(entry: Entry, bursts: Round[]): Measured {
  const rates = bursts.map(({ rate }) => rate);
  const latencies = bursts.flatMap((burst) => burst.latencies);
  const cpus = bursts.map(({ cpu }) => cpu).filter((cpu) => cpu !== undefined);
  return {
    case: entry.case,
    contender: entry.contender,
    rate: median(rates),
    rates,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    answers: latencies.length,
    cpu: cpus.length === 0 ? undefined : median(cpus),
  };
}
