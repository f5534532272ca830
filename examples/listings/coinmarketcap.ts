// Reads an exchange as CoinMarketCap does, and prints a summary of each market with its best prices and trades.
//
//   node coinmarketcap.ts http://localhost:3000
const [service = "http://localhost:3000"] = process.argv.slice(2);

/** Decimals are strings: they have more digits than a number holds. */
interface Summary {
  trading_pairs: string;
  base_currency: string;
  quote_currency: string;
  last_price: string;
  base_volume: string;
  price_change_percent_24h: string;
}

interface Orderbook {
  bids: [price: string, amount: string][];
  asks: [price: string, amount: string][];
}

async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${service}/coinmarketcap/${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

const [summary, assets, ticker] = await Promise.all([
  get<Summary[]>("summary"),
  get<Record<string, { contractAddress: string }>>("assets"),
  get<Record<string, { isFrozen: 0 | 1 }>>("ticker"),
]);
for (const { trading_pairs, base_currency, quote_currency, ...figures } of summary) {
  // A symbol may have any letters.
  const market = `market_pair=${encodeURIComponent(trading_pairs)}`;
  const { bids, asks } = await get<Orderbook>(`orderbook?${market}&level=1`);
  const trades = await get<unknown[]>(`trades?${market}`);
  const tokens = [base_currency, quote_currency].map((code) => assets[code]?.contractAddress);
  console.log(
    `${trading_pairs} (${tokens.join(", ")}) last ${figures.last_price}, ` +
      `${figures.price_change_percent_24h} %, bid ${bids[0]?.[0] ?? "none"}, ask ${asks[0]?.[0] ?? "none"}, ` +
      `volume ${figures.base_volume} in ${trades.length} trades` +
      (ticker[trading_pairs]?.isFrozen === 1 ? ", frozen" : ""),
  );
}
