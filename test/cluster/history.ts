// Every chain that the writer has made, and the right answers at the head of each, computed by brute force.
import type { Row } from "../brute-force.ts";
import { casesAt, type Case, type Head, type Written } from "../faults/right-answers.ts";

/** A block as it was written. */
export interface WrittenBlock extends Head {
  hash: string;
  offers: Row[];
  trades: Row[];
  killed: number[];
}

/** The blocks above what was there before the writer, from the lowest up. */
export type Chain = readonly WrittenBlock[];

export const keyOf = ({ path, query = "" }: Pick<Case, "path" | "query">): string =>
  `${path}\n${query}`;

export class History {
  readonly #base: Written;
  /** The chains with a head of this block: several, where a reorganisation has replaced it. */
  readonly #chains = new Map<number, Chain[]>();
  /** The chains up to this block, which may never have been its head: a reorganisation writes several blocks at once. */
  readonly #upTo = new Map<number, Chain[]>();
  readonly #answers = new Map<Chain, Map<string, string>>();
  #now: Chain = [];

  constructor(base: Written) {
    this.#base = base;
    this.add([]);
  }

  /** What stands. */
  get now(): Chain {
    return this.#now;
  }

  /** The head of a chain. */
  headOf(chain: Chain): Head {
    return chain.at(-1) ?? this.#base.head;
  }

  /** What there is to ask. */
  cases(): Case[] {
    return casesAt(this.#base);
  }

  add(chain: Chain): void {
    const before = new Set(this.#now);
    for (const [n, one] of chain.entries()) {
      if (before.has(one)) continue;
      this.#upTo.set(one.block, [...(this.#upTo.get(one.block) ?? []), chain.slice(0, n + 1)]);
    }
    this.#now = chain;
    const { block } = this.headOf(chain);
    this.#chains.set(block, [...(this.#chains.get(block) ?? []), chain]);
  }

  /** Whether this is the answer at the head `block`, or as of that past block, to the byte. */
  isRight(
    asked: Pick<Case, "path" | "query">,
    block: number,
    text: string,
    isPast = false,
  ): boolean {
    return ((isPast ? this.#upTo : this.#chains).get(block) ?? []).some(
      (chain) => this.#answersAt(chain).get(keyOf(asked)) === text,
    );
  }

  #answersAt(chain: Chain): Map<string, string> {
    const known = this.#answers.get(chain);
    if (known !== undefined) return known;
    const right = casesAt(this.#written(chain)).map((one): [string, string] => [
      keyOf(one),
      JSON.stringify(one.right),
    ]);
    const answers = new Map(right);
    this.#answers.set(chain, answers);
    return answers;
  }

  #written(chain: Chain): Omit<Written, "blocks"> {
    const { recording } = this.#base;
    const killed = new Map(
      chain.flatMap(({ block, killed: ids }) => ids.map((id) => [String(id), String(block)])),
    );
    const offers = [...recording.offers, ...chain.flatMap((one) => one.offers)];
    return {
      head: this.headOf(chain),
      recording: {
        ...recording,
        offers: offers.map((row) => ({
          ...row,
          killed: killed.get(row["id"] ?? "") ?? row["killed"] ?? "0",
        })),
        trades: [...recording.trades, ...chain.flatMap((one) => one.trades)],
      },
    };
  }
}
