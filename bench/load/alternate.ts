// Measures several things side by side: one after another, round after round, so that what the
// machine does meanwhile meets all of them.
import type { Burst, Load } from "./client.ts";
import { median, percentile } from "./statistics.ts";

export interface Entry {
  case: string;
  contender: string;
  ask: (load: Load) => Promise<Burst>;
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
}

export async function alternate(
  entries: Entry[],
  { rounds, ...load }: Load & { rounds: number },
  log: (line: string) => void,
): Promise<Measured[]> {
  const warmUp = { ...load, seconds: Math.min(0.5, load.seconds / 2) };
  const bursts = new Map<Entry, Burst[]>();
  for (const entry of entries) {
    await entry.ask(warmUp);
    bursts.set(entry, []);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
      bursts.get(entry)?.push(await entry.ask(load));
    }
  }
  return entries.map((entry) => {
    const measured = summarise(entry, bursts.get(entry) ?? []);
    log(
      `  ${measured.case} · ${measured.contender}: ${measured.rate.toFixed(0)}/s, ` +
        `p50 ${measured.p50.toFixed(2)} ms, p99 ${measured.p99.toFixed(2)} ms`,
    );
    return measured;
  });
}

function summarise(entry: Entry, bursts: Burst[]): Measured {
  const rates = bursts.map(({ rate }) => rate);
  const latencies = bursts.flatMap((burst) => burst.latencies);
  return {
    case: entry.case,
    contender: entry.contender,
    rate: median(rates),
    rates,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    answers: latencies.length,
  };
}
