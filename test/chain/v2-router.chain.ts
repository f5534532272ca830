// Uniswap's own v2 pairs and router: best prices and levels of the book beside what the router gives, and rows beside what tokens moved.
import { getAddress, maxUint256, parseEventLogs, parseUnits, type Address } from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { startIndexing } from "./indexing.ts";
import { seededRandom } from "./seeded-random.ts";
import { shipped } from "./shipped.ts";
import { V2Pools, V2_ABI } from "./v2-pools.ts";

const ACCOUNTS = [0, 1, 2];
const ROUNDS = 6;
const ACTS = 12;

interface Token {
  address: Address;
  symbol: string;
  decimals: number;
}

let chain: TestChain;
let pools: V2Pools;
let database: TestDatabase;

beforeAll(async () => {
  chain = await startChain();
  pools = await V2Pools.deploy(chain);
  database = await makeDatabase();
});
afterAll(async () => {
  await database.drop();
  await chain.stop();
});

/** Of 18 and 6 digits, and one that burns 1 % of each transfer. Each account has much of each. */
async function deployTokens(): Promise<[Token, Token, Token]> {
  const { deploy } = chain.sending;
  const whole = async (symbol: string, decimals: number): Promise<Token> => {
    const address = await deploy("TradedToken", [symbol, symbol, decimals]);
    for (const account of ACCOUNTS) {
      await pools.send(account, address, "give", [pools.account(account), 10n ** 40n]);
    }
    return { address, symbol, decimals };
  };
  const tokens = [await whole("WETH", 18), await whole("USDC", 6)] as const;
  const burning = await deploy(await shipped("v2-periphery/build/DeflatingERC20"), [10n ** 30n]);
  for (const account of ACCOUNTS.slice(1)) {
    await pools.send(0, burning, "transfer", [pools.account(account), 10n ** 29n]);
  }
  return [...tokens, { address: burning, symbol: "BURN", decimals: 18 }];
}

const integerRoot = (n: bigint): bigint => BigInt(Math.floor(Math.sqrt(Number(n))));
const distance = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one);

interface Level {
  act: "buy" | "sell";
  price: string;
  vol: string;
  quote_vol: string;
  offers: number;
}

/** The pool of a market at the head, in the smallest units, by the database and by the router. */
async function expectRouterPrices(base: Token, quote: Token): Promise<void> {
  const pair = await pools.pairOf([base.address, quote.address]);
  const [first] = await pools.tokensOf(pair);
  const reserves = await pools.reservesOf(pair);
  const [bases, quotes] = first === base.address ? reserves : ([reserves[1], reserves[0]] as const);
  const names = [base.symbol, quote.symbol];
  const { rows: markets } = await database.owner.query<{ bid: string; ask: string }>(
    "select bid, ask from dex_market where pair = $1",
    [names.join("/")],
  );
  const { bid, ask } = markets[0]!;
  const inQuote = (units: bigint, price: string): bigint =>
    (units * parseUnits(price, 18) * 10n ** BigInt(quote.decimals)) /
    10n ** BigInt(base.decimals + 18);

  // So little that it moves the price by less than one unit of what it gives.
  const sold = bases / (2n * integerRoot(quotes)) + 1n;
  const got = await pools.amountOut(sold, [base.address, quote.address]);
  expect(distance(inQuote(sold, bid), got)).toBeLessThanOrEqual(1n);
  const bought = bases / (2n * integerRoot(quotes)) + 1n;
  // The router takes one unit more than the rounded down amount.
  const paid = await pools.amountIn(bought, [quote.address, base.address]);
  expect(distance(inQuote(bought, ask), paid)).toBeLessThanOrEqual(2n);

  const { rows: levels } = await database.owner.query<Level>(
    "select act, price, vol, quote_vol, offers from dex_book($1, $2)",
    names,
  );
  for (const act of ["buy", "sell"] as const) {
    const side = levels.filter((level) => level.act === act);
    expect(side.map(({ offers }) => offers)).toEqual(Array(10).fill(0));
    const path = act === "buy" ? [base.address, quote.address] : [quote.address, base.address];
    const into = act === "buy" ? bases : quotes;
    let taken = 0n;
    let given = 0n;
    for (const [n, { vol, quote_vol: quoteVol }] of side.entries()) {
      const [baseUnits, quoteUnits] = [
        parseUnits(vol, base.decimals),
        parseUnits(quoteVol, quote.decimals),
      ];
      taken += act === "buy" ? baseUnits : quoteUnits;
      given += act === "buy" ? quoteUnits : baseUnits;
      expect(await pools.amountOut(taken, path)).toBe(given);
      expect(await pools.amountIn(given, path)).toBeLessThanOrEqual(taken + 1n);
      // The price moves with (1 + taken × (1 − fee) ÷ reserve)²: one unit more would be beyond the level's price.
      const [far, near] =
        act === "buy" ? [1000n, 998n - 2n * BigInt(n)] : [1002n + 2n * BigInt(n), 1000n];
      const moved = (amount: bigint): bigint => (into * 1000n + amount * 997n) ** 2n * near;
      const limit = (into * 1000n) ** 2n * far;
      expect(moved(taken)).toBeLessThanOrEqual(limit);
      expect(moved(taken + 1n)).toBeGreaterThan(limit);
    }
  }
}

it("has the prices that the router gives, and the rows that tokens moved by", async () => {
  const tokens = await deployTokens();
  const [weth, usdc, burning] = tokens;
  const borrower = await chain.sending.deploy("FlashBorrower");
  for (const { address } of tokens) {
    await pools.send(0, address, "transfer", [borrower, 10n ** 28n]);
    for (const account of ACCOUNTS) {
      await pools.send(account, address, "approve", [pools.router, maxUint256]);
    }
  }
  const markets = [
    [weth, usdc],
    [burning, usdc],
    [burning, weth],
  ] as const;
  for (const [base, quote] of markets) {
    const amounts = [
      1234n * 10n ** BigInt(base.decimals),
      567_891n * 10n ** BigInt(quote.decimals),
    ];
    const addresses = [base.address, quote.address] as const;
    await pools.addLiquidity(0, addresses, amounts as [bigint, bigint]);
  }

  const random = seededRandom(11);
  const act = async (): Promise<void> => {
    const account = ACCOUNTS[random(ACCOUNTS.length)]!;
    const [base, quote] = markets[random(markets.length)]!;
    const path = random(2) === 0 ? [base.address, quote.address] : [quote.address, base.address];
    const [sold, bought] = path as [Address, Address];
    const pair = await pools.pairOf([sold, bought]);
    const reserves = await pools.reservesOf(pair);
    const share = BigInt(1 + random(1_000_000));
    switch (random(6)) {
      case 0:
        await pools.addLiquidity(account, [sold, bought], [10n ** 20n, 10n ** 20n]);
        return;
      case 1: {
        const shares = await pools.read<bigint>(pair, "balanceOf", [pools.account(account)]);
        if (shares > 0n) await pools.removeLiquidity(account, pair, shares / 7n);
        return;
      }
      case 2: {
        // A loan of one token that is given back in both: it counts by the difference.
        const lent = random(2);
        const loan = (reserves[lent]! * share) / 10_000_000n;
        const other = (reserves[1 - lent]! * share) / 15_000_000n;
        const [outs, backs] =
          lent === 0
            ? [
                [loan, 0n],
                [loan / 2n, other],
              ]
            : [
                [0n, loan],
                [other, loan / 2n],
              ];
        await pools.send(account, borrower, "borrow", [pair, ...outs, ...backs]);
        return;
      }
      case 3: {
        // A loan of both that is given back in the same, with more than the fee: no trade.
        const [first, second] = reserves.map((has) => (has * share) / 10_000_000n) as [
          bigint,
          bigint,
        ];
        const backs = [(first * 103n) / 100n, (second * 103n) / 100n];
        await pools.send(account, borrower, "borrow", [pair, first, second, ...backs]);
        return;
      }
      default: {
        const has = await pools.read<bigint>(sold, "balanceOf", [pair]);
        const third = tokens.map(({ address }) => address).filter((one) => !path.includes(one));
        const way = random(3) === 0 ? [sold, ...third, bought] : path;
        await pools.swap(account, (has * share) / 10_000_000n, way);
      }
    }
  };

  const indexing = startIndexing({
    ...{ databaseUrl: database.url, url: chain.url, exchange: pools.factory, decoder: uniswapV2 },
    ...{ taker: "sender", finality: 0 },
    tokenList: {
      ...{ path: "tokens.json", quotes: ["USDC", "WETH"] },
      tokens: tokens.map((token) => ({ ...token, name: token.symbol })),
    },
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let n = 0; n < ACTS; n += 1) await act();
    await indexing.wrote(await chain.client.getBlockNumber());
    for (const [base, quote] of markets) await expectRouterPrices(base, quote);
  }
  await indexing.stop();

  const pairs = await Promise.all(
    markets.map(([base, quote]) => pools.pairOf([base.address, quote.address])),
  );
  const logs = await chain.client.getLogs({ fromBlock: 0n });
  const moves = parseEventLogs({
    ...{ abi: V2_ABI, eventName: "Transfer" },
    logs: logs.filter(({ address }) =>
      tokens.some((token) => token.address === getAddress(address)),
    ),
  });
  const expected: object[] = [];
  let flat = 0;
  let netted = 0;
  for (const { address, args, blockNumber, logIndex, transactionHash: tx } of parseEventLogs({
    ...{ abi: V2_ABI, eventName: "Swap", logs },
  })) {
    const venue = pairs.find((pair) => pair === getAddress(address))!;
    // What the tokens themselves say that moved to the pair in the transaction, and from it.
    const change = (token: Address): bigint =>
      moves
        .filter((move) => move.transactionHash === tx && getAddress(move.address) === token)
        .reduce((sum, { args }) => {
          const came = getAddress(args.to) === venue ? args.value : 0n;
          return sum + came - (getAddress(args.from) === venue ? args.value : 0n);
        }, 0n);
    const both = (await pools.tokensOf(venue)).map((token) => ({ token, moved: change(token) }));
    const lot = both.find(({ moved }) => moved < 0n);
    const bid = both.find(({ moved }) => moved > 0n);
    if (lot === undefined || bid === undefined) {
      flat += 1;
      continue;
    }
    if (args.amount0In > 0n && args.amount1In > 0n) netted += 1;
    const { from } = await chain.client.getTransaction({ hash: tx });
    expected.push({
      ...{ block: Number(blockNumber), idx: logIndex, tx, venue, taker: getAddress(from) },
      ...{
        lot_gem: lot.token,
        lot: String(-lot.moved),
        bid_gem: bid.token,
        bid: String(bid.moved),
      },
    });
  }
  expect(expected.length).toBeGreaterThan(30);
  expect(flat).toBeGreaterThan(3);
  expect(netted).toBeGreaterThan(3);
  const { rows } = await database.owner.query(
    `select
      block, idx, tx, venue, taker, lot_gem, bid_gem,
      trim_scale(lot_amt * round(10::numeric ^ (case lot_gem when $1 then 6 else 18 end)))::text as lot,
      trim_scale(bid_amt * round(10::numeric ^ (case bid_gem when $1 then 6 else 18 end)))::text as bid
    from dex_trade
    order by id`,
    [usdc.address],
  );
  expect(rows).toEqual(expected);
});
