// The tokens and markets that the indexer registers, and the tokens whose rows it leaves out.
import type { Client } from "../db/connect.ts";
import { freeSymbols } from "../db/exchanged-symbols.ts";
import { marketsOf, type BlockFact, type Fact, type MarketFact } from "./exchange-facts.ts";
import type { GivenMarket } from "./market-files.ts";
import { EXIT, Halt } from "./halt.ts";
import type { ListedMarkets } from "./token-list.ts";
import { Unavailable, type Requests } from "./requests.ts";
import { readTokens, type TokenFacts } from "./ask-tokens.ts";
import type { StateBlock } from "./contract-state.ts";
import { areExact, leftOutLine, LeftOutTokens } from "./left-out-tokens.ts";

export interface RegistryOptions {
  requests: Requests;
  /** Receives what is left out, and why: once for each token and market. */
  onLeftOut: (line: string) => void;
}

/** What the database has of tokens is not asked again. */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #tokens = new Map<string, TokenFacts>();
  readonly #said = new Set<string>();
  /** Addresses of the tokens that the database has. */
  readonly #registered = new Set<string>();
  readonly #leftOut = new LeftOutTokens();
  /** The tokens that make markets; without a list, those that the exchange lists. */
  #listed: ListedMarkets | undefined;
  /** Both tokens of each market that the database has, in the order of their text. */
  readonly #markets = new Set<string>();
  /** What those of them say themselves that are not in the list. */
  #unlisted = new Map<string, TokenFacts>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Takes over the tokens of the database. */
  async load(client: Client): Promise<void> {
    const { rows } = await client.query<{ address: string } & TokenFacts>(
      "select address, symbol, name, decimals from dex_token",
    );
    this.#registered.clear();
    for (const { address, ...token } of rows) {
      this.#registered.add(address);
      this.#tokens.set(address, token);
      if (!areExact(token.decimals)) this.#say(address, leftOutLine(address, token));
    }
    const notice = await this.#leftOut.load(client);
    if (notice !== undefined) this.#say("left out", notice);
    const { rows: pairs } = await client.query<{ base_gem: string; quote_gem: string }>(
      "select base_gem, quote_gem from dex_pair",
    );
    this.#markets.clear();
    for (const { base_gem, quote_gem } of pairs) this.#markets.add(keyOf(base_gem, quote_gem));
  }

  /** From now on only these tokens make markets. */
  useList(listed: ListedMarkets): void {
    this.#listed = listed;
  }

  /** The markets that these facts list, or see for the first time. */
  marketsOf(facts: readonly BlockFact[]): MarketFact[] {
    const markets = this.#listed?.of(facts) ?? marketsOf(facts);
    return markets.filter(
      ({ base, quote, isSeen }) => isSeen !== true || !this.#markets.has(keyOf(base, quote)),
    );
  }

  /**
   * Asks for the tokens of these facts that have no row yet, in a block whose state the node has. With the first row it is
   * settled whether all of them are left out, so that an earlier answer must not say it, which another process may not have.
   */
  async learn(facts: readonly BlockFact[], block: StateBlock): Promise<void> {
    const gems = facts.flatMap(gemsOf);
    const open = gems.filter((one) => !this.#registered.has(one) && !this.#leftOut.has(one));
    await this.#ask(open, block);
    for (const address of open) this.#checkListed(address);
  }

  /** Asks for those that are not known, whether or not they have rows. */
  learnTokens(tokens: readonly string[], block: StateBlock): Promise<void> {
    const unknown = tokens.filter((address) => !this.#tokens.has(address));
    return this.#ask(unknown, block);
  }

  async #ask(addresses: readonly string[], block: StateBlock): Promise<void> {
    if (addresses.length === 0) return;
    const { requests } = this.#options;
    for (const [address, token] of await readTokens(requests, [...new Set(addresses)], block)) {
      this.#tokens.set(address, this.#named(address, token));
    }
  }

  /** What a list promises is not left out by the word of a node. */
  #checkListed(address: string): void {
    const listed = this.#listed?.tokens.get(address);
    const { decimals } = this.#tokens.get(address) ?? {};
    if (listed === undefined || !areExact(listed.decimals) || areExact(decimals)) return;
    throw new Unavailable(
      `Token ${address} (${listed.symbol}) has ${decimals ?? "no"} decimals by its own answer, and ${listed.decimals} in TOKEN_LIST. If the node is right, leave it out of the list: then its offers and trades are left out`,
    );
  }

  /** A listed token has the symbol and name of the list: what it says itself, others may say too. */
  #named(address: string, token: TokenFacts): TokenFacts {
    const listed = this.#listed?.tokens.get(address);
    if (listed === undefined) return token;
    if (areExact(token.decimals) && token.decimals !== listed.decimals) {
      this.#say(
        `${address} decimals`,
        `Token ${address} (${listed.symbol}) has ${token.decimals} decimals, and ${listed.decimals} in TOKEN_LIST: amounts are by what it says itself.`,
      );
    }
    return { ...token, symbol: listed.symbol, name: listed.name ?? token.name };
  }

  /** Asks the tokens of markets that are not in the list: an earlier list may have named them. */
  async learnUnlisted(block: StateBlock): Promise<void> {
    const tokens = new Set([...this.#markets].flatMap((key) => key.split(",")));
    const unlisted = [...tokens].filter((address) => this.#listed?.has(address) === false);
    this.#unlisted = await readTokens(this.#options.requests, unlisted, block);
  }

  /** Corrects what another list or other quotes have left: symbols of tokens, and directions of markets. */
  async correct(client: Client, given: readonly GivenMarket[]): Promise<void> {
    const listed = this.#listed;
    if (listed === undefined) return;
    const renamed: string[] = [];
    for (const address of this.#registered) {
      const before = this.#tokens.get(address);
      if (before === undefined) continue;
      const { symbol, name } = this.#unlisted.get(address) ?? this.#named(address, before);
      const token = { ...before, symbol, name };
      if (token.symbol === before.symbol && token.name === before.name) continue;
      this.#tokens.set(address, token);
      renamed.push(address);
    }
    await this.#rename(client, renamed);
    const kept = new Set(given.map(({ baseGem, quoteGem }) => keyOf(baseGem, quoteGem)));
    const { rows } = await client.query<{ base_gem: string; quote_gem: string; active: boolean }>(
      "select base_gem, quote_gem, active from dex_pair",
    );
    for (const { base_gem, quote_gem, active } of rows) {
      const { base, quote } = listed.turned(base_gem, quote_gem);
      const isOwn = listed.has(base) && listed.has(quote) && !kept.has(keyOf(base, quote));
      if (!isOwn || base === base_gem) continue;
      await this.#tryTo(client, `market of ${base} and ${quote}`, () =>
        client.query("select ingest.register_pair($1, $2, $3)", [base, quote, active]),
      );
    }
  }

  /** One after the other, as one may be refused; then together those that were, as they may have exchanged their symbols. */
  async #rename(client: Client, addresses: readonly string[]): Promise<void> {
    const refused = new Map<string, Error>();
    for (const address of addresses) {
      const refusal = await this.#refusalOf(client, () => this.#register(client, address));
      if (refusal !== undefined) refused.set(address, refusal);
    }
    if (refused.size === 0) return;
    const together = await this.#refusalOf(client, async () => {
      const tokens = [...refused.keys()].map((address) => {
        return { address, symbol: this.#tokens.get(address)?.symbol };
      });
      await freeSymbols(client, tokens);
      for (const { address } of tokens) await this.#register(client, address);
    });
    if (together === undefined) return;
    for (const [address, refusal] of refused) {
      this.#leaveOut(`symbol of the token ${address} in TOKEN_LIST`, refusal);
    }
  }

  async #register(client: Client, address: string): Promise<void> {
    const { symbol, decimals, name } = this.#tokens.get(address) ?? {};
    const values = [address, symbol, decimals, name];
    await client.query("select ingest.register_token($1, $2, $3, $4)", values);
  }

  /** In a transaction: what the database refuses is left as it was, and said once. */
  async #tryTo(client: Client, what: string, change: () => Promise<unknown>): Promise<boolean> {
    const refusal = await this.#refusalOf(client, change);
    if (refusal !== undefined) this.#leaveOut(what, refusal);
    return refusal === undefined;
  }

  async #refusalOf(client: Client, change: () => Promise<unknown>): Promise<Error | undefined> {
    await client.query("savepoint registration");
    try {
      await change();
      return undefined;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await client.query("rollback to savepoint registration");
      return error as Error;
    }
  }

  #leaveOut(what: string, { message }: Error): void {
    this.#say(what, `The ${what} is left out: ${message}.`);
  }

  /** Throws a `Halt` where a token does not have the symbol that a file of markets gives it. */
  checkSymbols({ base, quote, baseGem, quoteGem }: GivenMarket): void {
    for (const [symbol, address] of [
      [base, baseGem],
      [quote, quoteGem],
    ] as const) {
      const actual = this.#tokens.get(address)?.symbol;
      const isRight = actual?.toUpperCase() === symbol.toUpperCase();
      if (isRight || this.#leftOut.has(address)) continue;
      throw new Halt(
        `The market ${base}/${quote}: the token ${address} has the symbol ${actual ?? "null"}, and not ${symbol}.`,
        EXIT.usage,
      );
    }
  }

  #say(key: string, line: string): void {
    if (this.#said.has(key)) return;
    this.#said.add(key);
    this.#options.onLeftOut(line);
  }

  /** The decimals of a token whose amounts are exact; undefined for one whose rows are left out. */
  readonly decimalsOf = (address: string): number | undefined => {
    if (this.#leftOut.has(address)) return undefined;
    const decimals = this.#tokens.get(address)?.decimals;
    return areExact(decimals) ? decimals : undefined;
  };

  /** Records those whose first rows these facts would be, in the transaction that writes the others. */
  async leaveOut(client: Client, facts: readonly Fact[]): Promise<void> {
    for (const fact of facts) {
      // A market has no amounts, and may be listed long before the first row.
      for (const address of fact.kind === "market" ? [] : gemsOf(fact)) {
        const token = this.#tokens.get(address);
        const isKnown = this.#registered.has(address) || this.#leftOut.has(address);
        if (isKnown || token === undefined || areExact(token.decimals)) continue;
        await this.#leftOut.add(client, address, fact.block, token);
        this.#say(address, leftOutLine(address, token, fact.block));
      }
    }
  }

  /** Blocks above this one were taken back. */
  readonly forgetAbove = (number: number): void => this.#leftOut.forgetAbove(number);

  /** Registers the tokens of these facts that the database lacks. */
  async registerTokens(client: Client, facts: readonly Fact[]): Promise<void> {
    for (const address of new Set(facts.flatMap(gemsOf))) {
      if (this.#registered.has(address) || this.decimalsOf(address) === undefined) continue;
      await this.#register(client, address);
      this.#registered.add(address);
    }
  }

  /**
   * Registers the markets that these facts leave, or changes whether they are active. A pair that is registered
   * keeps its direction, but where a file gives another. One that the database refuses, as two with one name, is left out.
   */
  async registerMarkets(client: Client, facts: readonly MarketFact[]): Promise<void> {
    const markets = new Map<string, MarketFact>();
    for (const fact of facts) {
      const key = keyOf(fact.base, fact.quote);
      const first = markets.get(key) ?? fact;
      if (first !== fact && fact.isSeen === true) continue;
      markets.set(key, { ...fact, base: first.base, quote: first.quote });
    }
    for (const [key, { base, quote, active, isSeen, isGiven }] of markets) {
      const { rows } = await client.query<{ base_gem: string; quote_gem: string }>(
        `select base_gem, quote_gem
        from dex_pair
        where (base_gem, quote_gem) in (($1, $2), ($2, $1))`,
        [base, quote],
      );
      const own = { base_gem: base, quote_gem: quote };
      const { base_gem, quote_gem } = isGiven === true ? own : (rows[0] ?? own);
      if (isSeen === true && rows.length > 0) continue;
      const isDone = await this.#tryTo(client, `market of ${base} and ${quote}`, () =>
        client.query("select ingest.register_pair($1, $2, $3)", [base_gem, quote_gem, active]),
      );
      // One that is refused would be refused with each block.
      if (isDone || isSeen === true) this.#markets.add(key);
    }
  }
}

/** SQLSTATEs of what `ingest` refuses. */
export const isRefusal = (error: unknown): boolean =>
  ["22023", "23505"].includes(String((error as { code?: unknown }).code));

const keyOf = (one: string, other: string): string => [one, other].sort().join();

function gemsOf(fact: BlockFact): string[] {
  if (fact.kind === "update") return [];
  return fact.kind === "market" ? [fact.base, fact.quote] : [fact.lotGem, fact.bidGem];
}
