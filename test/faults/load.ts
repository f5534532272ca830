// Clients that ask without a pause, hold every answer against the right one, and count.
import { Agent } from "node:http";
import { exchange, graphql } from "../exchange-http.ts";
import type { Case } from "./right-answers.ts";
import { errorsIn, isToldUnavailable } from "./told.ts";

/** What became of the requests to a service. */
export interface Counts {
  asked: number;
  /** 200, and to the byte what it had to be. */
  right: number;
  /** Said to be unavailable just now: 503, or in GraphQL an error of such a code. */
  unavailable: number;
  /** Refused, or broken off without an answer. */
  unanswered: number;
  /** 200, and something else than what it had to be. */
  wrong: string[];
  /** Any other answer. */
  other: string[];
  /** The longest time until an answer, in milliseconds. */
  slowestMs: number;
}

export const noCounts = (): Counts => ({
  asked: 0,
  right: 0,
  unavailable: 0,
  unanswered: 0,
  wrong: [],
  other: [],
  slowestMs: 0,
});

/** The sum of several counts. */
export function total(all: Counts[]): Counts {
  const sum = noCounts();
  for (const counts of all) {
    sum.asked += counts.asked;
    sum.right += counts.right;
    sum.unavailable += counts.unavailable;
    sum.unanswered += counts.unanswered;
    sum.wrong.push(...counts.wrong);
    sum.other.push(...counts.other);
    sum.slowestMs = Math.max(sum.slowestMs, counts.slowestMs);
  }
  return sum;
}

/** Asks once, and counts what comes. */
export async function askOnce(
  url: string,
  { path, query, right }: Case,
  counts: Counts,
  agent?: Agent,
): Promise<void> {
  const began = performance.now();
  counts.asked += 1;
  try {
    const asked = query === undefined ? { path } : graphql({ query });
    const { status, headers, body } = await exchange(url, asked, agent ? { agent } : {});
    counts.slowestMs = Math.max(counts.slowestMs, performance.now() - began);
    const text = body.toString("utf8");
    const errors = status === 200 ? errorsIn(text) : undefined;
    if (isToldUnavailable(status, headers, text)) counts.unavailable += 1;
    else if (errors !== undefined) counts.other.push(`${path}: 200 ${JSON.stringify(errors)}`);
    else if (status === 200 && text === JSON.stringify(right)) counts.right += 1;
    else if (status === 200) counts.wrong.push(`${path}: ${text.slice(0, 400)}`);
    else counts.other.push(`${path}: ${status} ${text.slice(0, 400)}`);
  } catch {
    counts.unanswered += 1;
  }
}

export interface Load {
  /** What came so far. */
  counts: Counts;
  stop(): Promise<Counts>;
}

/**
 * So many clients ask a service for these cases in turn, until they are stopped. Where the service soon closes a
 * connection that rests, a slow client needs a new one for each request.
 */
export function startLoad(url: string, cases: Case[], clients = 6, keepAlive = true): Load {
  const counts = noCounts();
  const agent = new Agent({ keepAlive });
  let isStopping = false;
  const client = async (first: number): Promise<void> => {
    for (let n = first; !isStopping; n += 1) {
      await askOnce(url, cases[n % cases.length]!, counts, agent);
      // A service that refuses is not asked in a circle that takes all of the processor.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const running = Array.from({ length: clients }, (_, n) => client(n * 5));
  return {
    counts,
    async stop() {
      isStopping = true;
      await Promise.all(running);
      agent.destroy();
      return counts;
    },
  };
}
