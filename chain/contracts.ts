// The contracts that a database is filled from: which logs are theirs, and their facts in the order of the chain.
import { checksumAddress } from "../db/load/checksum.ts";
import {
  type Ask,
  type ChainLog,
  type ContractCall,
  type Decoder,
  type Made,
  type UntimedFact,
} from "./exchange-facts.ts";
import type { FoundContract, Knowledge } from "./known-contracts.ts";
import { checkNumber } from "./wholeness.ts";
import { checkKept, withRefs } from "./offer-refs.ts";

/** A contract of EXCHANGE beside the first one. */
export interface Contract {
  /** Its address. */
  exchange: string;
  decoder: Decoder;
  /** The block that its history begins with. */
  firstBlock: number;
}

/** Where a contract's first block is given. */
export const FIRST_BLOCK_SETTING = "after @ in EXCHANGE, else FROM_BLOCK";

/** Whether its offers keep their ids where it is the first such contract. */
export const canKeepIds = ({ hasOffers, reusesIds }: Decoder): boolean =>
  hasOffers !== false && reusesIds !== true;

/** So many contracts are named where logs are asked; of more, logs are asked by topic, and sorted here. */
const MAX_LISTED = 200;

export class Contracts {
  /** Addresses of those with offers, in lower case; the first one keeps its ids. */
  readonly #books: readonly string[];
  /** Those of EXCHANGE by address, in lower case. */
  readonly #given: ReadonlyMap<string, Contract>;
  /** The topics of each kind, and its decoder. */
  readonly #kinds: ReadonlyMap<string, { decoder: Decoder; topics: ReadonlySet<string> }>;
  /** The decoders of those that were set up. */
  readonly #decoders = new WeakMap<FoundContract, Decoder>();
  /** Topic 0 of every event that one of them reads. */
  readonly topics: Decoder["topics"];
  readonly marketTopics: Decoder["marketTopics"];
  /** Topic 0 of every log by which a factory makes a contract. */
  readonly factoryTopics: Decoder["topics"];

  constructor(first: Omit<Contract, "firstBlock">, others: readonly Contract[] = []) {
    const all = [{ ...first, firstBlock: 0 }, ...others];
    this.#given = new Map(all.map((one) => [one.exchange.toLowerCase(), one]));
    this.#kinds = new Map(
      all.map(({ decoder }) => [decoder.kind, { decoder, topics: new Set(decoder.topics) }]),
    );
    this.#books = all
      .filter(({ decoder }) => canKeepIds(decoder))
      .map(({ exchange }) => exchange.toLowerCase());
    this.topics = [...new Set(all.flatMap(({ decoder }) => decoder.topics))];
    this.marketTopics = [...new Set(all.flatMap(({ decoder }) => decoder.marketTopics))];
    this.factoryTopics = [...new Set(all.flatMap(({ decoder }) => decoder.discover?.topics ?? []))];
  }

  /** Their addresses with those of `made`; undefined where they are too many for a filter of logs. */
  addresses(known: Knowledge, made: readonly FoundContract[] = []): Set<string> | undefined {
    const addresses = new Set(this.#given.keys());
    for (const one of made) if (!this.#isPair(one)) addresses.add(one.address);
    for (const one of known.made()) {
      if (!this.#isPair(one)) addresses.add(one.address);
      if (addresses.size > MAX_LISTED) return undefined;
    }
    return addresses.size > MAX_LISTED ? undefined : addresses;
  }

  #isPair({ kind }: FoundContract): boolean {
    return this.#kinds.get(kind)?.decoder.discoversPairs === true;
  }

  /** Whether a block with this bloom can have logs of one of them. */
  mayBeIn(covers: (item: string) => boolean, known: Knowledge): boolean {
    if (!this.topics.some(covers)) return false;
    const addresses = this.addresses(known);
    return addresses === undefined || [...addresses].some(covers);
  }

  /** The contracts that factories make by these logs. */
  madeBy(logs: readonly ChainLog[], known: Knowledge): FoundContract[] {
    const made = new Map<string, FoundContract>();
    const last = new Map<string, FoundContract | undefined>();
    for (const log of logs) {
      const { address: factory, block } = log;
      const given = this.#given.get(factory);
      if (given === undefined || block < given.firstBlock) continue;
      const { kind } = given.decoder;
      const one = madeBy(given.decoder, log);
      if (one === undefined) continue;
      const contract = { ...one, kind, block, factory };
      if (one.number !== null) {
        const before = last.has(factory) ? last.get(factory) : known.lastOf(factory);
        checkNumber(contract, before, made.has(before?.address ?? ""));
        last.set(factory, contract);
      }
      if (this.#given.has(one.address) || known.get(one.address) !== undefined) continue;
      made.set(one.address, contract);
    }
    return [...made.values()];
  }

  /** The facts of what is theirs of these logs, whole transactions in the order of the chain; what was found to read them. */
  async decode(
    logs: readonly ChainLog[],
    known: Knowledge,
    askOf: (contract: Contract) => Ask,
  ): Promise<{ facts: UntimedFact[]; found: FoundContract[] }> {
    const found = new Map(this.madeBy(logs, known).map((one) => [one.address, one]));
    const own = new Map<string, ChainLog[]>();
    for (const log of logs) {
      const { address, block, topics } = log;
      const given = this.#given.get(address);
      const { kind = "", block: since } = found.get(address) ?? known.get(address) ?? {};
      const begins = given?.firstBlock ?? since;
      if (begins === undefined || block < begins) continue;
      const { topics: read } = this.#kinds.get(given?.decoder.kind ?? kind) ?? {};
      if (read?.has(topics[0] ?? "") !== true) continue;
      if (given !== undefined && madeBy(given.decoder, log) !== undefined) continue;
      const before = own.get(address);
      if (before === undefined) own.set(address, [log]);
      else before.push(log);
    }
    const facts: UntimedFact[][] = [];
    for (const [address, some] of own) {
      const decoder = await this.#decoderOf(address, some[0]?.block ?? 0, { found, known, askOf });
      const isOwn = ({ factory }: FoundContract): boolean => factory === address;
      const all = decoder.discoversPairs ? [...known.made(), ...found.values()] : [];
      const read = decoder.decode(some, all.filter(isOwn));
      const venue = this.#given.get(address)?.exchange ?? checksumAddress(address);
      const book = this.#books.indexOf(address);
      if (book === 0 && this.#books.length > 1) checkKept(venue, read);
      facts.push(
        (book > 0 ? withRefs(read) : read).map((fact) =>
          fact.kind === "market" ? fact : { venue, ...fact },
        ),
      );
    }
    const [only = []] = facts;
    return {
      facts:
        facts.length < 2
          ? only
          : facts.flat().sort((one, other) => one.block - other.block || one.idx - other.idx),
      found: [...found.values()],
    };
  }

  /** Asks a contract what its events do not say, once, and keeps that in `found`. */
  async #decoderOf(
    address: string,
    block: number,
    {
      found,
      known,
      askOf,
    }: { found: Map<string, FoundContract>; known: Knowledge; askOf: (contract: Contract) => Ask },
  ): Promise<Decoder> {
    const before = found.get(address) ?? known.get(address);
    const given = this.#given.get(address);
    // What a factory makes is as the factory is given.
    const factory = this.#given.get(before?.factory ?? "");
    const decoder = (given ?? factory)?.decoder ?? this.#kinds.get(before?.kind ?? "")?.decoder;
    if (decoder === undefined) throw new Error(`the kind ${before?.kind} is not read`);
    if (decoder.setUp === undefined) return decoder;
    const isSetUp = before === undefined ? undefined : this.#decoders.get(before);
    if (isSetUp !== undefined) return isSetUp;
    const contract = given ?? { exchange: checksumAddress(address), decoder, firstBlock: block };
    const ask = askOf(contract);
    const answers: Record<string, string | number> = { ...before?.answers };
    const setUp = await decoder.setUp(async <T extends string | number>(call: ContractCall<T>) => {
      const answer = (answers[call.name] as T | undefined) ?? (await ask(call));
      answers[call.name] = answer;
      return answer;
    });
    const contractFound = before ?? {
      address,
      kind: decoder.kind,
      block,
      factory: null,
      number: null,
      answers,
    };
    this.#decoders.set(contractFound, setUp);
    if (before === undefined) found.set(address, contractFound);
    return setUp;
  }
}

const madeBy = ({ discover }: Decoder, log: ChainLog): Made | undefined =>
  discover?.topics.some((topic) => topic === log.topics[0]) ? discover.made(log) : undefined;

/**
 * How the contracts are recorded: one as its address; with a fee that is not the kind's. Their order is left out, but for
 * which one is first, and which one of several keeps its ids.
 */
export function recordedAs(
  { exchange, decoder }: Pick<Contract, "exchange" | "decoder">,
  others: readonly Contract[],
): string {
  const books = canKeepIds(decoder) ? [] : others.filter((one) => canKeepIds(one.decoder));
  const keeper = books.length > 1 ? books[0] : undefined;
  return [
    exchange + feeOf(decoder),
    ...(keeper === undefined ? [] : [`${nameOf(keeper)} (keeps its ids)`]),
    ...others
      .filter((one) => one !== keeper)
      .map(nameOf)
      .sort(),
  ].join();
}

const nameOf = ({ exchange, decoder, firstBlock }: Contract): string =>
  `${decoder.kind}:${exchange}@${firstBlock}${feeOf(decoder)}`;

/** As it is given: 2,500 millionths are `/0.25%`. */
function feeOf({ otherFee }: Decoder): string {
  if (otherFee === undefined) return "";
  const digits = String(otherFee).padStart(5, "0");
  return `/${digits.slice(0, -4)}.${digits.slice(-4)}`.replace(/\.?0*$/, "%");
}
