// A book with the events and rules of Tempo's exchange on a test chain, and any transaction of it.
import assert from "node:assert/strict";
import {
  encodeFunctionData,
  getAddress,
  parseAbi,
  parseEventLogs,
  type Abi,
  type Address,
} from "viem";
import type { TestDatabase } from "../database.ts";
import type { TestChain } from "./chain.ts";
import type { KindTrade, PlayedKind } from "./kind-histories.ts";

export const TICK_BOOK_ABI = parseAbi([
  "function setQuote(address base, address quote)",
  "function setFlips(uint8 to)",
  "function place(address base, uint128 amount, bool isBid, int16 tick)",
  "function placeFlip(address base, uint128 amount, bool isBid, int16 tick, int16 flipTick)",
  "function cancel(uint128 id)",
  "function swap(address base, bool buys, uint128 amount)",
  "function openOrders() view returns (uint128[])",
  "function getOrder(uint128 id) view returns ((uint128 orderId, address maker, bytes32 bookKey, bool isBid, int16 tick, uint128 amount, uint128 remaining, uint128 prev, uint128 next, bool isFlip, int16 flipTick))",
  "event OrderPlaced(uint128 indexed orderId, address indexed maker, address indexed token, uint128 amount, bool isBid, int16 tick, bool isFlipOrder, int16 flipTick)",
  "event OrderFilled(uint128 indexed orderId, address indexed maker, address indexed taker, uint128 amountFilled, bool partialFill)",
  "event OrderFlipped(uint128 indexed orderId, address indexed maker, address indexed token, uint128 amount, bool isBid, int16 tick, int16 flipTick)",
]);
const FUNCTIONS: Abi = TICK_BOOK_ABI;

export async function deployTempo(chain: TestChain): Promise<PlayedKind> {
  const { deploy, send } = chain.sending;
  const exchange = getAddress(await deploy("TickBook"));
  const fromBlock = Number(await chain.client.getBlockNumber());
  const symbols = ["PATH", "ALPHA", "BETA"] as const;
  const tokens: { symbol: string; address: Address; decimals: number }[] = [];
  for (const symbol of symbols) {
    const address = getAddress(await chain.deployToken("string", { symbol, decimals: 6 }));
    tokens.push({ symbol, address, decimals: 6 });
  }
  const [path, alpha, beta] = tokens.map(({ address }) => address) as [Address, Address, Address];
  const call = (account: number, functionName: string, args: readonly unknown[]) =>
    send(account, {
      to: exchange,
      data: encodeFunctionData({ abi: FUNCTIONS, functionName, args }),
      gas: 5_000_000n,
    });
  const quoteOf = new Map([
    [alpha, path],
    [beta, alpha],
  ]);
  for (const [base, quote] of quoteOf) await call(0, "setQuote", [base, quote]);
  const read = <T>(functionName: "openOrders" | "getOrder", args: readonly unknown[] = []) =>
    chain.client.readContract({
      ...{ address: exchange, abi: FUNCTIONS, functionName, args },
    }) as Promise<T>;
  interface Order {
    maker: Address;
    isBid: boolean;
    remaining: bigint;
  }

  return {
    ...{ kind: "tempo", exchange, fromBlock, tokens, quotes: ["PATH", "ALPHA"] },
    async act(random) {
      const base = random(3) === 0 ? beta : alpha;
      const tick = (): number => 10 * (random(41) - 20);
      const amount = BigInt(100_000_000 + random(1e8));
      switch (random(9)) {
        case 0:
        case 1:
        case 2:
          return call(random(3), "place", [base, amount, random(2) === 0, tick()]);
        case 3: {
          const [low, high] = [tick(), tick()].sort((one, other) => one - other);
          const [isBid, account] = [random(2) === 0, random(3)];
          const ticks = isBid ? [low, high] : [high, low];
          return call(account, "placeFlip", [base, amount, isBid, ...ticks]);
        }
        case 4: {
          const open = await read<bigint[]>("openOrders");
          const id = open[random(Math.max(1, open.length))] ?? 1n;
          const { maker } = await read<Order>("getOrder", [id]).catch(() => ({ maker: "0x" }));
          return call(Math.max(0, chain.accounts.indexOf(maker as Address)), "cancel", [id]);
        }
        case 5:
          return call(0, "setFlips", [random(3)]);
        default: {
          // Of one unit, a part of an order, or several orders.
          const sizes = [1n, BigInt(1 + random(1e8)), amount, 3n * amount];
          const swapped = sizes[random(random(4) === 0 ? 4 : 3)];
          return call(random(3), "swap", [base, random(2) === 0, swapped]);
        }
      }
    },
    async trades() {
      const logs = await chain.client.getLogs({ address: exchange, fromBlock: BigInt(fromBlock) });
      const orders = new Map<bigint, { base: Address; isBid: boolean; price: bigint }>();
      const trades: KindTrade[] = [];
      for (const log of parseEventLogs({ abi: TICK_BOOK_ABI, logs })) {
        const { eventName, args, blockNumber, logIndex: idx, transactionHash: tx } = log;
        if (eventName !== "OrderFilled") {
          const { orderId, token: base, isBid, tick } = args;
          orders.set(orderId, { base: getAddress(base), isBid, price: 100_000n + BigInt(tick) });
          continue;
        }
        const { base, isBid, price } = orders.get(args.orderId)!;
        // A bid gives quotes rounded down, an ask gets them rounded up.
        const scaled = args.amountFilled * price;
        const quotes = String((isBid ? scaled : scaled + 99_999n) / 100_000n);
        const bases = String(args.amountFilled);
        const quote = quoteOf.get(base)!;
        trades.push({
          ...{ block: Number(blockNumber), idx, tx, venue: exchange },
          ...{ maker: args.maker, taker: args.taker },
          ...(isBid
            ? { lot_gem: quote, lot: quotes, bid_gem: base, bid: bases }
            : { lot_gem: base, lot: bases, bid_gem: quote, bid: quotes }),
        });
      }
      return trades;
    },
    async check(database: TestDatabase) {
      const open: unknown[] = [];
      for (const id of await read<bigint[]>("openOrders")) {
        const { maker, isBid, remaining } = await read<Order>("getOrder", [id]);
        open.push({ id: String(id), maker, is_bid: isBid, remaining: String(remaining) });
      }
      const { rows } = await database.owner.query<{ id: string }>(
        `select
          split_part(offer.ref, ':', 1) as id,
          offer.maker,
          given.is_bid,
          trunc(1e6 * case
            when given.is_bid then offer.bid_amt - coalesce(
              (select sum(trade.bid_amt) from dex_trade as trade where trade.offer_id = offer.id), 0
            )
            else kept.lot_amt
          end)::text as remaining
        from dex_offer as offer
        join dex_private.offer_left as kept on kept.offer_id = offer.id
        cross join lateral (
          select offer.bid_gem = $2 or offer.bid_gem = $1 and offer.lot_gem <> $2 as is_bid
        ) as given
        where offer.ended is null`,
        [alpha, beta],
      );
      const byId = (one: { id: string }, other: { id: string }) =>
        Number(one.id) - Number(other.id);
      assert.deepEqual(rows.sort(byId), (open as { id: string }[]).sort(byId));
      return { pools: [], levels: 0 };
    },
  };
}
