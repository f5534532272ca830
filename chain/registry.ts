// The tokens and markets that the indexer registers, and the tokens whose rows it leaves out.
import type { Client } from "../db/connect.ts";
import type { Fact, MarketFact } from "./facts.ts";
import type { GivenMarket } from "./given-markets.ts";
import { EXIT, Halt } from "./halt.ts";
import type { Requests } from "./requests.ts";
import { readTokens, type TokenFacts } from "./tokens.ts";

/** The fractional digits that the schema keeps exactly. */
const MOST_DECIMALS = 18;

export interface RegistryOptions {
  requests: Requests;
  /** Hears what is left out, and why: once for each token and market. */
  onLeftOut: (line: string) => void;
}

/** Tokens by address. What is asked of a node once is kept. */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #tokens = new Map<string, TokenFacts>();
  readonly #said = new Set<string>();
  /** Addresses of the tokens that the database has. */
  readonly #registered = new Set<string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Takes over the tokens of the database. They are not asked again. */
  async load(client: Client): Promise<void> {
    const { rows } = await client.query<{ address: string } & TokenFacts>(
      "select address, symbol, name, decimals from dex_token",
    );
    this.#registered.clear();
    for (const { address, ...token } of rows) {
      this.#registered.add(address);
      this.#tokens.set(address, token);
      this.#judge(address, token);
    }
  }

  /** Asks for the tokens of these facts that are not known, as of a block whose state the node has. */
  async learn(facts: readonly Fact[], block: number): Promise<void> {
    const gems = new Set(facts.flatMap(gemsOf));
    const unknown = [...gems].filter((address) => !this.#tokens.has(address));
    if (unknown.length === 0) return;
    for (const [address, token] of await readTokens(this.#options.requests, unknown, block)) {
      this.#tokens.set(address, token);
      this.#judge(address, token);
    }
  }

  /** Throws a `Halt` where a token does not have the symbol that a file of markets gives it. */
  checkSymbols({ base, quote, baseGem, quoteGem }: GivenMarket): void {
    for (const [symbol, address] of [
      [base, baseGem],
      [quote, quoteGem],
    ] as const) {
      const actual = this.#tokens.get(address)?.symbol;
      if (actual?.toUpperCase() === symbol.toUpperCase()) continue;
      throw new Halt(
        `The market ${base}/${quote}: the token ${address} has the symbol ${actual ?? "null"}, and not ${symbol}.`,
        EXIT.usage,
      );
    }
  }

  #judge(address: string, { symbol, decimals }: TokenFacts): void {
    if (decimals !== undefined && decimals <= MOST_DECIMALS) return;
    const reason =
      decimals === undefined
        ? "does not say how many decimals it has"
        : `has ${decimals} decimals, and amounts are exact up to ${MOST_DECIMALS}`;
    this.#say(
      address,
      `Token ${address} (${symbol ?? "without a symbol"}) ${reason}: its offers and trades are left out.`,
    );
  }

  #say(key: string, line: string): void {
    if (this.#said.has(key)) return;
    this.#said.add(key);
    this.#options.onLeftOut(line);
  }

  /** The decimals of a token whose amounts are exact; undefined for one whose rows are left out. */
  decimalsOf(address: string): number | undefined {
    const decimals = this.#tokens.get(address)?.decimals;
    return decimals !== undefined && decimals <= MOST_DECIMALS ? decimals : undefined;
  }

  /** Registers the tokens of these facts that the database lacks. */
  async registerTokens(client: Client, facts: readonly Fact[]): Promise<void> {
    for (const address of new Set(facts.flatMap(gemsOf))) {
      const token = this.#tokens.get(address);
      if (this.#registered.has(address) || this.decimalsOf(address) === undefined) continue;
      await client.query("select ingest.register_token($1, $2, $3, $4)", [
        address,
        token?.symbol,
        token?.decimals,
        token?.name,
      ]);
      this.#registered.add(address);
    }
  }

  /**
   * Registers the markets that these facts leave, or changes whether they are active. A pair that is registered
   * keeps its direction. One that the database refuses, as two with one name, is left out.
   */
  async registerMarkets(client: Client, facts: readonly MarketFact[]): Promise<void> {
    const markets = new Map<string, MarketFact>();
    for (const fact of facts) {
      const key = [fact.base, fact.quote].sort().join();
      const first = markets.get(key) ?? fact;
      markets.set(key, { ...fact, base: first.base, quote: first.quote });
    }
    for (const [key, { base, quote, active }] of markets) {
      const { rows } = await client.query<{ base_gem: string; quote_gem: string }>(
        `select base_gem, quote_gem
        from dex_pair
        where (base_gem, quote_gem) in (($1, $2), ($2, $1))`,
        [base, quote],
      );
      const { base_gem, quote_gem } = rows[0] ?? { base_gem: base, quote_gem: quote };
      await client.query("savepoint market");
      try {
        await client.query("select ingest.register_pair($1, $2, $3)", [
          base_gem,
          quote_gem,
          active,
        ]);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await client.query("rollback to savepoint market");
        this.#say(
          key,
          `The market of ${base} and ${quote} is left out: ${(error as Error).message}.`,
        );
      }
    }
  }
}

/** SQLSTATEs of what the door refuses. */
export const isRefusal = (error: unknown): boolean =>
  ["22023", "23505"].includes(String((error as { code?: unknown }).code));

const gemsOf = (fact: Fact): string[] =>
  fact.kind === "market" ? [fact.base, fact.quote] : [fact.lotGem, fact.bidGem];
