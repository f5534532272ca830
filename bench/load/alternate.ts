// Measures several things side by side: one after another, round after round, so that what the
// machine does meanwhile meets all of them.
import type { Burst, Load } from "./client.ts";
import { median, percentile } from "./statistics.ts";

export interface Entry {
  case: string;
  contender: string;
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
 * Asks all of them in turn. A program gets faster while it runs, the later the more code it has: before
 * it is warm, it is compared by that.
 */
export async function alternate(
  entries: Entry[],
  { rounds, warmUp, ...load }: Load & Rounds,
  log: (line: string) => void,
): Promise<Measured[]> {
  const bursts = new Map<Entry, Round[]>();
  for (const entry of entries) {
    await entry.ask({ ...load, seconds: warmUp });
    bursts.set(entry, []);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
      bursts.get(entry)?.push(await timed(entry, load));
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

/** A program that has waited for its turn is slower at first, the more so the more it keeps. */
const LEAD_IN_SECONDS = 0.2;

async function timed(entry: Entry, load: Load): Promise<Round> {
  // pgbench, whose processor time is not asked for, is begun anew each time.
  if (entry.processorTime) await entry.ask({ ...load, seconds: LEAD_IN_SECONDS });
  const before = await entry.processorTime?.();
  const burst = await entry.ask(load);
  const after = await entry.processorTime?.();
  const used = before === undefined || after === undefined ? undefined : after - before;
  return { ...burst, cpu: used === undefined ? undefined : used / burst.latencies.length };
}

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
