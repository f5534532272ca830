// Reads an exchange as CoinGecko does, and prints a ticker of each market with the size of its book.
//
//   node coingecko.ts http://localhost:3000
const [service = "http://localhost:3000"] = process.argv.slice(2);

/** Decimals are strings: they have more digits than a number holds. */
interface Ticker {
  ticker_id: string;
  last_price: string;
  base_volume: string;
  target_volume: string;
  liquidity_in_usd?: string;
  bid?: string;
  ask?: string;
}

interface Orderbook {
  bids: [price: string, amount: string][];
  asks: [price: string, amount: string][];
}

interface Trades {
  buy: { trade_id: number }[];
  sell: { trade_id: number }[];
}

async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${service}/coingecko/${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

const pairs = await get<{ ticker_id: string }[]>("pairs");
const tickers = new Map((await get<Ticker[]>("tickers")).map((one) => [one.ticker_id, one]));
for (const { ticker_id } of pairs) {
  const ticker = tickers.get(ticker_id);
  if (ticker === undefined) {
    console.log(`${ticker_id} was never traded`);
    continue;
  }
  const market = `ticker_id=${ticker_id}`;
  const { bids, asks } = await get<Orderbook>(`orderbook?${market}&depth=0`);
  const { buy, sell } = await get<Trades>(`historical_trades?${market}&limit=100`);
  console.log(
    `${ticker_id} last ${ticker.last_price}, bid ${ticker.bid ?? "none"}, ask ${ticker.ask ?? "none"}, ` +
      `volume ${ticker.base_volume} for ${ticker.target_volume}, ` +
      `book ${bids.length} + ${asks.length}, trades ${buy.length} + ${sell.length}, ` +
      `liquidity ${ticker.liquidity_in_usd ?? "unknown"}`,
  );
}
