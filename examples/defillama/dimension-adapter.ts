// What this adapter uses of DefiLlama's dimension-adapters; there, import it from adapters/types instead.

/** Sums of tokens, in their smallest units. */
export interface Balances {
  add: (token: string, amount: bigint) => void;
}

export interface FetchOptions {
  /** The logs of a contract in the time that is asked for, with their arguments by name. */
  getLogs: (params: { target: string; eventAbi: string }) => Promise<unknown[]>;
  createBalances: () => Balances;
}

export interface SimpleAdapter {
  version: 2;
  adapter: Record<
    string,
    { fetch: (options: FetchOptions) => Promise<{ dailyVolume: Balances }>; start: string }
  >;
}
