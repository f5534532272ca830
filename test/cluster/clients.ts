// Clients that ask without a pause, by whatever service the balancer gives them, and hand back the highest block that
// they have seen.
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { exchangeWhole, graphql } from "../exchange-http.ts";
import type { Case } from "../faults/right-answers.ts";
import { errorsIn, isToldUnavailable } from "../faults/told.ts";
import { keyOf, type History } from "./history.ts";

const CLIENTS = 4;
/** Every so many requests one is as of a past block: so far below the highest that was seen as no reorganisation goes. */
const PAST_EACH = 7;
const PAST_DEPTH = 4;
const PAUSE_MS = 25;

export interface Counts {
  /** Answers of status 200. */
  answers: number;
  /** Said to be unavailable just now: 503 with Retry-After, or in GraphQL an error of such a code. */
  unavailable: number;
  /** Broken off without an answer, or within it. */
  brokenOff: string[];
  /** Of a block before the one that the client had seen. */
  wentBack: string[];
  /** Not to the byte what is right at the head that the answer names. */
  wrong: string[];
  /** Any other answer. */
  other: string[];
  /** The longest time that a client had no answer of status 200, in milliseconds. */
  longestWaitMs: number;
}

interface Answer extends Pick<Case, "path" | "query"> {
  block: number;
  text: string;
  isPast: boolean;
}

const noCounts = (): Counts => ({
  ...{ answers: 0, unavailable: 0, longestWaitMs: 0 },
  ...{ brokenOff: [], wentBack: [], wrong: [], other: [] },
});

export class Clients {
  readonly #url: string;
  readonly #history: History;
  /** As of the blocks before, answers are not known. */
  readonly #first: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #answeredAt: number[];
  #counts = noCounts();
  /** Each different answer once. */
  #answers = new Map<string, Answer>();
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(url: string, history: History) {
    this.#url = url;
    this.#history = history;
    this.#first = history.headOf([]).block;
    this.#answeredAt = Array.from({ length: CLIENTS }, () => performance.now());
  }

  start(): void {
    const cases = this.#history.cases();
    this.#running = Promise.all(this.#answeredAt.map((_, n) => this.#client(n, cases)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    this.#agent.destroy();
  }

  /** Resolves when every client has had an answer of status 200 from now on. */
  async untilAnswered(): Promise<void> {
    const from = performance.now();
    while (this.#answeredAt.some((at) => at < from)) await sleep(10);
  }

  /** Judges what came since it was called last, and begins anew. What stands must not move meanwhile. */
  judge(): Counts {
    const [counts, answers] = [this.#counts, this.#answers];
    this.#answeredAt.forEach((_, n) => this.#noteWait(n));
    this.#counts = noCounts();
    this.#answers = new Map();
    for (const { path, query, block, text, isPast } of answers.values()) {
      const asked = { path, ...(query !== undefined && { query }) };
      if (this.#history.isRight(asked, block, text, isPast)) continue;
      counts.wrong.push(`${keyOf(asked)} at block ${block}: ${text.slice(0, 600)}`);
    }
    return counts;
  }

  async #client(n: number, cases: Case[]): Promise<void> {
    let highest = 0;
    for (let asked = n * 5; !this.#isOver; asked += 1) {
      const one = cases[asked % cases.length]!;
      const past = highest - PAST_DEPTH;
      const isPast = asked % PAST_EACH === 0 && one.query === undefined && past > this.#first;
      highest = Math.max(highest, await this.#ask(n, one, highest, isPast ? past : undefined));
      await sleep(PAUSE_MS);
    }
  }

  /** Returns the block of the answer; 0 without one. */
  async #ask(n: number, { path, query }: Case, least: number, past?: number): Promise<number> {
    const headers = { "X-Min-Block": String(least) };
    const asOf = past === undefined ? "" : `${path.includes("?") ? "&" : "?"}block=${past}`;
    const request =
      query === undefined ? { path: path + asOf, headers } : graphql({ query }, headers);
    const asked = exchangeWhole(this.#url, request, { agent: this.#agent });
    const answer = await asked.catch((error: unknown) => {
      this.#counts.brokenOff.push(`${path}: ${(error as Error).message}`);
    });
    if (answer === undefined) return 0;
    const counts = this.#counts;
    const { status, body } = answer;
    const text = body.toString("utf8");
    const valueOf = (name: string): string | undefined => {
      const at = answer.headers.findIndex((one, k) => k % 2 === 0 && one.toLowerCase() === name);
      return at < 0 ? undefined : answer.headers[at + 1];
    };
    // HAProxy writes names of headers in lower case.
    const told = valueOf("retry-after") === undefined ? [] : ["Retry-After"];
    if (isToldUnavailable(status, told, text)) {
      counts.unavailable += 1;
      return 0;
    }
    const block = Number(valueOf("x-head-block") ?? NaN);
    if (status !== 200 || errorsIn(text) !== undefined || Number.isNaN(block)) {
      counts.other.push(`${path}: ${status} ${text.slice(0, 400)}`);
      return 0;
    }
    counts.answers += 1;
    this.#noteWait(n);
    if (past !== undefined && block !== past) counts.wrong.push(`${path}${asOf}: block ${block}`);
    if (block < (past ?? least))
      counts.wentBack.push(`${path}: block ${block} after block ${least}`);
    this.#answers.set(`${block}\n${path}${asOf}\n${query}\n${text}`, {
      ...{ path, block, text, isPast: past !== undefined },
      ...(query !== undefined && { query }),
    });
    return block;
  }

  #noteWait(n: number): void {
    const now = performance.now();
    const waited = now - this.#answeredAt[n]!;
    this.#counts.longestWaitMs = Math.max(this.#counts.longestWaitMs, waited);
    this.#answeredAt[n] = now;
  }
}
