// The markets that a list of tokens makes: which pairs, and which way round.
import { marketsOf, type BlockFact, type MarketFact } from "./exchange-facts.ts";
import { EXIT, Halt } from "./halt.ts";
import type { ListedToken, TokenList } from "./token-list.ts";

export class ListedMarkets {
  /** By address. */
  readonly tokens: ReadonlyMap<string, ListedToken>;
  /** The place of each quote token: the lower one is quote. */
  readonly #ranks = new Map<string, number>();

  /** Throws a `Halt` where no token is of this chain, or a quote is not one of them. */
  constructor({ path, tokens, quotes }: TokenList, chainId: number) {
    const own = tokens.filter((token) => (token.chainId ?? chainId) === chainId);
    if (own.length === 0) {
      throw new Halt(`${path} (TOKEN_LIST) has no token of the chain ${chainId}.`, EXIT.usage);
    }
    this.tokens = new Map(own.map((token) => [token.address, token]));
    for (const [rank, quote] of quotes.entries()) {
      const name = quote.toUpperCase();
      const found = own.filter(({ address, symbol }) =>
        [address.toUpperCase(), symbol.toUpperCase()].includes(name),
      );
      const [token] = found;
      if (token === undefined || found.length > 1) {
        const addresses = found.map(({ address }) => address).join(", ");
        throw new Halt(
          `QUOTES: ${JSON.stringify(quote)} is ${token ? `the symbol of several tokens, give the address of one: ${addresses}` : `no symbol or address of a token of the chain ${chainId} in ${path} (TOKEN_LIST)`}.`,
          EXIT.usage,
        );
      }
      if (!this.#ranks.has(token.address)) this.#ranks.set(token.address, rank);
    }
  }

  has(address: string): boolean {
    return this.tokens.has(address);
  }

  /** The two tokens as base and quote: by rank, and where none has one, the higher address is quote. */
  turned(one: string, other: string): { base: string; quote: string } {
    const [first, second] = [one, other].map((token) => this.#ranks.get(token) ?? Infinity);
    const isQuote =
      first === second ? one.toLowerCase() > other.toLowerCase() : Number(first) < Number(second);
    return isQuote ? { base: other, quote: one } : { base: one, quote: other };
  }

  /** What the exchange lists of these tokens, and each pair of them with an offer, a trade or a pool. */
  of(facts: readonly BlockFact[]): MarketFact[] {
    const found = new Map<string, MarketFact>();
    for (const fact of facts) {
      if (!("lotGem" in fact) || fact.kind === "cancellation") continue;
      if (!this.has(fact.lotGem) || !this.has(fact.bidGem)) continue;
      const { block, hash, tx, idx } = fact;
      const pair = this.turned(fact.lotGem, fact.bidGem);
      const key = `${pair.base} ${pair.quote}`;
      if (found.has(key)) continue;
      found.set(key, {
        ...{ kind: "market", ...pair, active: true, isSeen: true },
        ...{ block, hash, tx, idx },
      });
    }
    const listed = marketsOf(facts).filter(({ base, quote }) => this.has(base) && this.has(quote));
    return [
      ...found.values(),
      ...listed.map((fact) => ({ ...fact, ...this.turned(fact.base, fact.quote) })),
    ];
  }
}
