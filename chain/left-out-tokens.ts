// The tokens whose rows are left out, since they had no usable decimals when the first one came. They stay so whatever they
// say later: a history that began in its midst would be wrong. The database has them beside the contracts that were found.
import type { Client } from "../db/connect.ts";
import { checksumAddress } from "../db/load/checksum.ts";
import type { TokenFacts } from "./ask-tokens.ts";

/** The fractional digits that the schema keeps exactly. */
const MAX_DECIMALS = 18;

export const areExact = (decimals: number | undefined): boolean =>
  decimals !== undefined && decimals <= MAX_DECIMALS;

interface LeftOut {
  symbol: string | null;
  /** The block of its first row that was left out. */
  block: number;
}

/** So many are named at a start. */
const NAMED = 10;

export class LeftOutTokens {
  /** By address. */
  readonly #tokens = new Map<string, LeftOut>();

  /** Resolves to what somebody who starts it should know; undefined where there is none. */
  async load(client: Client): Promise<string | undefined> {
    const { rows } = await client.query<LeftOut & { address: string }>(
      `select address, answers ->> 'symbol' as symbol, block
      from dex_private.index_contract
      where kind = 'token'
      order by block, address`,
    );
    this.#tokens.clear();
    for (const { address, ...token } of rows) this.#tokens.set(checksumAddress(address), token);
    return rows.length === 0 ? undefined : this.#notice();
  }

  has(address: string): boolean {
    return this.#tokens.has(address);
  }

  /** Writes one in the transaction of its block. */
  async add(client: Client, address: string, block: number, token: TokenFacts): Promise<void> {
    const { symbol, decimals } = token;
    const answers = { symbol, decimals };
    await client.query("select ingest.found_contracts($1)", [
      JSON.stringify([{ address: address.toLowerCase(), kind: "token", block, answers }]),
    ]);
    this.#tokens.set(address, { symbol, block });
  }

  /** Blocks above this one were taken back. */
  forgetAbove(number: number): void {
    for (const [address, { block }] of this.#tokens) {
      if (block > number) this.#tokens.delete(address);
    }
  }

  #notice(): string {
    const all = [...this.#tokens];
    const named = all
      .slice(0, NAMED)
      .map(
        ([address, { symbol, block }]) =>
          `${address} (${symbol ?? "without a symbol"}) since block ${block}`,
      );
    const others =
      all.length > NAMED
        ? ` and ${all.length - NAMED} others (all: \`select address, block, answers from dex_private.index_contract where kind = 'token'\`)`
        : "";
    return `Offers and trades of tokens that had no usable decimals with their first row are left out, whatever they say now: ${named.join(", ")}${others}. For one that has them now, \`set role dex_writer; select ingest.take_back(N - 1)\`, where N is its block, and a start fill the history from there on anew.`;
  }
}

/** Why the rows of a token are left out, and from which block on, where that is recorded. */
export function leftOutLine(
  address: string,
  { symbol, decimals }: TokenFacts,
  block?: number,
): string {
  const reason =
    decimals === undefined
      ? "does not say how many decimals it has"
      : `has ${decimals} decimals, and amounts are exact up to ${MAX_DECIMALS}`;
  const since = block === undefined ? "" : `, from block ${block} on, whatever it says later`;
  return `Token ${address} (${symbol ?? "without a symbol"}) ${reason}: its offers and trades are left out${since}.`;
}
