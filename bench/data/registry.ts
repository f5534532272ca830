// Creates the markets and accounts of the benchmark's exchange.
import type { Client } from "../../db/connect.ts";
import { pairHash } from "../../db/load/checksum.ts";
import { addressOf } from "../../db/simulate/identity.ts";

export const MARKETS = 50;
export const MAKERS = 3_000;
export const TAKERS = 20_000;

/** A third of all trades are in this market. */
export const BUSIEST = { base: "WETH", quote: "DAI", market: "WETHDAI" };

const QUOTES = ["DAI", "USDC", "WBTC", "USDT", "WSTETH"];
const DECIMALS: Record<string, number> = { USDC: 6, USDT: 6, WBTC: 8 };

interface Market {
  n: number;
  base: string;
  quote: string;
  price: string;
}

/** Market 1 is the busiest; each other market has its own base token and one of five quote tokens. */
const markets: Market[] = Array.from({ length: MARKETS }, (_, index) => ({
  n: index + 1,
  base: index === 0 ? BUSIEST.base : `TKN${String(index + 1).padStart(2, "0")}`,
  quote: QUOTES[index % QUOTES.length] ?? BUSIEST.quote,
  price: index === 0 ? "2750.25" : `${1 + (index % 7)}${"0".repeat(index % 5)}.125`,
}));

/** Registers tokens and pairs like an indexer, and creates bench.market, from which the trades are made. */
export async function makeRegistry(client: Client): Promise<void> {
  const symbols = [...new Set(markets.flatMap(({ base, quote }) => [base, quote]))];
  for (const symbol of symbols) {
    await client.query("select ingest.register_token($1, $2, $3, $2)", [
      addressOf(symbol),
      symbol,
      DECIMALS[symbol] ?? 18,
    ]);
  }
  for (const { n, base, quote } of markets) {
    await client.query("select ingest.register_pair($1, $2, $3)", [
      addressOf(base),
      addressOf(quote),
      n !== 50,
    ]);
  }
  await client.query(
    `create table bench.market as
    select
      given.n,
      given.price::numeric as price,
      given.sell_hash,
      given.buy_hash,
      pair.id as market_id,
      pair.market,
      pair.base_gem,
      pair.quote_gem,
      base_token.symbol as base_tkn,
      quote_token.symbol as quote_tkn
    from json_to_recordset($1) as given (
      n integer, base text, quote text, price text, sell_hash text, buy_hash text
    )
    join dex_pair as pair
      on pair.base = given.base
      and pair.quote = given.quote
    join dex_token as base_token on base_token.address = pair.base_gem
    join dex_token as quote_token on quote_token.address = pair.quote_gem`.replace(
      "$1",
      client.escapeLiteral(JSON.stringify(markets.map(withHashes))),
    ),
  );
}

const withHashes = (market: Market): object => ({
  ...market,
  sell_hash: pairHash(addressOf(market.base), addressOf(market.quote)),
  buy_hash: pairHash(addressOf(market.quote), addressOf(market.base)),
});

/** Creates bench.account: the addresses of makers and takers by number. */
export async function makeAccounts(client: Client): Promise<void> {
  await client.query(
    "create table bench.account (kind text, n integer, address text, primary key (kind, n))",
  );
  for (const [kind, count] of [
    ["maker", MAKERS],
    ["taker", TAKERS],
  ] as const) {
    const addresses = Array.from({ length: count }, (_, n) => addressOf(`${kind} ${n}`));
    await client.query(
      `insert into bench.account (kind, n, address)
      select
        $1,
        account.n - 1,
        account.address
      from unnest($2::text[]) with ordinality as account (address, n)`,
      [kind, addresses],
    );
  }
  await client.query("analyze bench.account");
}
