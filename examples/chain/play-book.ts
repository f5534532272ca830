// MatchingMarket's events: a little history, then a trade with each Enter.
import { createInterface } from "node:readline";
import { startChain } from "../../test/chain/chain.ts";
import { mineBlock } from "./mine-block.ts";

const ETHER = 10n ** 18n;
const DEPLOYER = 0;
const MAKER = 1;
const TAKER = 2;
/** Blocks have fixed times, so that each run gives the same figures. */
const START = new Date("2026-01-31T12:00:00Z");
const SECONDS_APART = 15;

export async function playBook(port: number): Promise<void> {
  const chain = await startChain({ start: START, port });
  await chain.setAutomine(false);
  /** Puts these transactions into one block. */
  const block = (...transactions: (() => Promise<unknown>)[]) =>
    mineBlock(chain, transactions, SECONDS_APART);

  const exchange = await chain.deployExchange();
  const weth = await chain.deployToken("string", { symbol: "WETH", name: "Wrapped Ether" });
  const dai = await chain.deployToken("string", { symbol: "DAI", name: "Dai Stablecoin" });
  await block(() => exchange.whitelist(DEPLOYER, weth, dai));

  /** Offers of WETH at 2,500, 2,510 and 2,520 DAI, and one of DAI for WETH at 2,490. */
  await block(
    ...[2500n, 2510n, 2520n].map(
      (price) => () =>
        exchange.make(MAKER, { pay: weth, payAmount: ETHER, buy: dai, buyAmount: price * ETHER }),
    ),
    () =>
      exchange.make(MAKER, {
        ...{ pay: dai, payAmount: 4980n * ETHER },
        ...{ buy: weth, buyAmount: 2n * ETHER },
      }),
  );
  await block(() => exchange.take(TAKER, 1n, ETHER));
  await block(() => exchange.take(TAKER, 2n, ETHER / 4n));
  await block(() => exchange.kill(MAKER, 3n));

  console.log(`A chain with an exchange on it listens at ${chain.url}. To index it, run in another terminal:

RPC_URL=${chain.url} EXCHANGE=${exchange.address} FROM_BLOCK=0 DATA_DIR=.data-chain npm start

Enter sells another tenth of a WETH at 2,490 DAI; Ctrl-C ends the chain.`);

  for await (const _line of createInterface({ input: process.stdin })) {
    const number = await block(() => exchange.take(TAKER, 4n, 249n * ETHER));
    console.log(`Sold in block ${number}.`);
  }
  // Without a terminal it stays until it is killed.
  await new Promise((resolve) => setInterval(resolve, 2 ** 30));
}
