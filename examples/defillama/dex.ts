// DefiLlama's adapter for an exchange of this kind: the volume is read from the contract's events.
//
// DefiLlama asks no service: this file goes to dexs/ of its repository dimension-adapters, with the constants of
// your exchange.
import type { FetchOptions, SimpleAdapter } from "./dimension-adapter.ts";

const EXCHANGE = "0x0000000000000000000000000000000000000000";
const CHAIN = "ethereum";
const START = "2026-01-01";

/** The markets, as /coingecko/pairs has them: base and quote token. */
const MARKETS: [base: string, quote: string][] = [];

export const LOG_TAKE =
  "event LogTake(bytes32 id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, address indexed taker, uint128 take_amt, uint128 give_amt, uint64 timestamp)";

interface Take {
  pay_gem: string;
  buy_gem: string;
  take_amt: bigint;
  give_amt: bigint;
}

const keyOf = (one: string, other: string): string => `${one.toLowerCase()} ${other.toLowerCase()}`;

/** Adds up what was paid in the quote token of each market, so that no trade counts twice. */
export const volumeOf =
  (target: string, markets: readonly (readonly [base: string, quote: string])[]) =>
  async ({ getLogs, createBalances }: FetchOptions) => {
    const dailyVolume = createBalances();
    const listed = new Set(markets.map(([base, quote]) => keyOf(base, quote)));
    const takes = (await getLogs({ target, eventAbi: LOG_TAKE })) as Take[];
    for (const { pay_gem, buy_gem, take_amt, give_amt } of takes) {
      // The maker sells base, or else buys it.
      if (listed.has(keyOf(pay_gem, buy_gem))) dailyVolume.add(buy_gem, give_amt);
      else if (listed.has(keyOf(buy_gem, pay_gem))) dailyVolume.add(pay_gem, take_amt);
    }
    return { dailyVolume };
  };

const adapter: SimpleAdapter = {
  version: 2,
  adapter: { [CHAIN]: { fetch: volumeOf(EXCHANGE, MARKETS), start: START } },
};

export { adapter as default };
