// What was found out about contracts: those that factories have made, and what contracts return that never changes.
import type { Client } from "../db/connect.ts";
import type { Made } from "./exchange-facts.ts";

/** `answers` is what its functions return, by their names. */
export interface FoundContract extends Made {
  kind: string;
  /** The block of the log by which it was found. */
  block: number;
  /** The factory that made it, in lower case; null for a contract of EXCHANGE. */
  factory: string | null;
}

/** The contracts that the database has. */
export class KnownContracts {
  readonly #contracts = new Map<string, FoundContract>();
  /** Of which one has been written. */
  readonly #factories = new Set<string>();
  readonly #onLeftOut: (line: string) => void;

  constructor(onLeftOut: (line: string) => void) {
    this.#onLeftOut = onLeftOut;
  }

  async load(client: Client): Promise<void> {
    const { rows } = await client.query<FoundContract>(
      `select address, kind, block, factory, number, answers
      from dex_private.index_contract
      where kind <> 'token'
      order by block, (answers -> 'log')::integer`,
    );
    this.#contracts.clear();
    const texts = new Map<string, string>();
    // Of 100,000 pools, tokens and factories are the same few texts.
    const once = <T>(text: T): T => {
      if (typeof text !== "string") return text;
      const known = texts.get(text) ?? text;
      texts.set(text, known);
      return known as T;
    };
    for (const { address, kind, factory, answers, ...row } of rows) {
      const own = Object.entries(answers).map(([name, answer]) => [name, once(answer)] as const);
      this.#set({
        ...{ address, kind: once(kind), factory: once(factory) },
        ...{ ...row, answers: Object.fromEntries(own) },
      });
    }
  }

  /** Writes them in the transaction of the blocks in which they were found. */
  async write(client: Client, found: readonly FoundContract[]): Promise<void> {
    if (found.length === 0) return;
    await client.query("select ingest.found_contracts($1)", [JSON.stringify(found)]);
  }

  /** The database has these. */
  written(found: readonly FoundContract[]): void {
    for (const contract of found) {
      const { factory, number, block } = contract;
      if (number !== null && number > 1 && !this.#factories.has(factory ?? "")) {
        this.#onLeftOut(
          `The factory ${factory} has made ${number - 1} contracts before block ${block}, the first one in which it was read to make one: their trades are left out. For all of them, index into a new database from the block in which the factory was made.`,
        );
      }
      this.#set(contract);
    }
  }

  #set(contract: FoundContract): void {
    this.#contracts.set(contract.address, contract);
    this.#factories.add(contract.factory ?? "");
  }

  /** Blocks above this one were taken back. */
  forgetAbove(number: number): void {
    for (const [address, { block }] of this.#contracts) {
      if (block > number) this.#contracts.delete(address);
    }
  }

  get(address: string): FoundContract | undefined {
    return this.#contracts.get(address);
  }

  get all(): Iterable<FoundContract> {
    return this.#contracts.values();
  }
}

/**
 * What is known while the blocks from `from` on are read, one after the other: what the database has of the blocks before
 * them, and what was found in them, which need not be written, or be of a branch that ever is.
 */
export class Knowledge {
  readonly #known: KnownContracts;
  readonly #from: number;
  readonly #found = new Map<string, FoundContract>();

  constructor(known: KnownContracts, from: number) {
    this.#known = known;
    this.#from = from;
  }

  add(found: readonly FoundContract[]): void {
    for (const contract of found) this.#found.set(contract.address, contract);
  }

  get(address: string): FoundContract | undefined {
    const found = this.#found.get(address);
    if (found !== undefined) return found;
    const before = this.#known.get(address);
    return before !== undefined && before.block < this.#from ? before : undefined;
  }

  /** Those that factories have made. */
  *made(): Generator<FoundContract> {
    for (const one of this.#known.all) {
      if (one.factory !== null && one.block < this.#from) yield one;
    }
    for (const one of this.#found.values()) if (one.factory !== null) yield one;
  }

  /** The last one that a factory made; undefined where none is known, or the factory does not count. */
  lastOf(factory: string): FoundContract | undefined {
    let last: FoundContract | undefined;
    for (const one of this.made()) {
      if (one.factory === factory && (one.number ?? 0) > (last?.number ?? 0)) last = one;
    }
    return last;
  }
}
