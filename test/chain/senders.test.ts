// The senders of transactions as takers: with what requests a node is asked for them, and what it may leave out.
import { getAddress, type Hex } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { Requests, type Read } from "../../chain/requests.ts";
import { ChainSource } from "../../chain/source.ts";
import {
  chainOf,
  EXCHANGE,
  senderOf,
  startInventedNode,
  type Act,
  type Call,
  type InventedNode,
} from "./invented-chain.ts";

const takes = (count: number): Act[] => Array.from({ length: count }, () => TAKE);
const TAKE: Act = { do: "take", id: 1, lot: 1 };

let node: InventedNode;
/** What was asked for senders: the number of a block, or a transaction. */
let asked: Hex[];
let inFlight: { now: number; most: number };

/** A node of which block 0 has an offer, and each one after it so many trades. */
async function start(trades: readonly number[]): Promise<void> {
  node = await startInventedNode(chainOf([[{ do: "make" }], ...trades.map(takes)]), 0);
  asked = [];
  inFlight = { now: 0, most: 0 };
}

afterEach(() => node.stop());

const isWhole = (method: string, [, whole]: readonly unknown[]): boolean =>
  method === "eth_getBlockByNumber" && whole === true;

class Watched extends Requests {
  override async ask<T>(method: string, params: readonly unknown[], read: Read<T>): Promise<T> {
    const isOfBlock = isWhole(method, params);
    if (isOfBlock || method === "eth_getTransactionByHash") asked.push(params[0] as Hex);
    if (!isOfBlock) return super.ask(method, params, read);
    inFlight.now += 1;
    inFlight.most = Math.max(inFlight.most, inFlight.now);
    return super.ask(method, params, read).finally(() => (inFlight.now -= 1));
  }
}

/** Transactions and takers of all trades. */
async function takers(): Promise<[string, string][]> {
  const { signal } = new AbortController();
  const requests = new Watched({
    ...{ urls: [node.url], perSecond: 100_000, backoffMs: 1, signal },
  });
  const source = new ChainSource({
    ...{ requests, exchange: EXCHANGE, decoder: matchingMarket, taker: "sender" },
    ...{ doubtMs: 1, signal },
  });
  const { facts } = await source.range(0, node.blocks.length - 1);
  return facts.flatMap((fact) => (fact.kind === "trade" ? [[fact.tx, fact.taker]] : []));
}

const transactions = (...blocks: number[]): Hex[] =>
  blocks.flatMap((block) => [
    ...new Set(node.blocks[block]!.logs.map(({ transactionHash }) => transactionHash)),
  ]);
const senders = (...blocks: number[]): [string, string][] =>
  transactions(...blocks).map((tx) => [tx, getAddress(senderOf(tx))]);

it("asks a block with three of them once, and of fewer each transaction", async () => {
  await start([1, 0, 2, 3, 4]);
  expect(await takers()).toEqual(senders(1, 3, 4, 5));
  expect(asked).toEqual(["0x4", "0x5", ...transactions(1, 3)]);
});

it("has no more than 20 such blocks in flight", async () => {
  await start(Array.from({ length: 50 }, () => 3));
  expect(await takers()).toHaveLength(150);
  expect(asked).toHaveLength(50);
  expect(inFlight.most).toBe(20);
});

interface Listed {
  hash: Hex;
  from?: Hex;
  blockHash: Hex;
}
interface Whole {
  hash: Hex;
  transactions: Listed[];
}
const OTHER: Hex = `0x${"9".repeat(64)}`;
const LIAR: Hex = `0x${"9".repeat(40)}`;

describe("asks each transaction that comes not with its block, as where it", () => {
  it.each<[string, (block: Whole) => unknown, number]>([
    ["is not there", () => null, 3],
    ["is refused", () => new Error("response size exceeded"), 3],
    ["has another form", () => "0x", 3],
    ["comes without transactions", ({ hash }) => ({ hash }), 3],
    [
      "has hashes alone",
      ({ transactions: all, ...header }) => ({
        ...header,
        transactions: all.map(({ hash }) => hash),
      }),
      3,
    ],
    [
      "is of another branch",
      ({ transactions: all }) => ({
        hash: OTHER,
        transactions: all.map((one) => ({ ...one, blockHash: OTHER, from: LIAR })),
      }),
      3,
    ],
    [
      "lacks one",
      ({ transactions: [, ...others], ...header }) => ({ ...header, transactions: others }),
      1,
    ],
    [
      "has one as null",
      ({ transactions: [, ...others], ...header }) => ({
        ...header,
        transactions: [null, ...others],
      }),
      1,
    ],
    [
      "has one of another block",
      ({ transactions: [first, ...others], ...header }) => ({
        ...header,
        transactions: [{ ...first, blockHash: OTHER, from: LIAR }, ...others],
      }),
      1,
    ],
    [
      "has no sender of one",
      ({ transactions: [first, ...others], ...header }) => ({
        ...header,
        transactions: [{ ...first, from: undefined }, ...others],
      }),
      1,
    ],
  ])("%s", async (_, lie, lacking) => {
    await start([3]);
    node.lie = ({ method, params }: Call, truth) =>
      isWhole(method, params) ? lie(truth as Whole) : truth;
    expect(await takers()).toEqual(senders(1));
    expect(asked).toEqual(["0x1", ...transactions(1).slice(0, lacking)]);
  });

  it("comes from no node", async () => {
    await start([3]);
    node.lie = ({ method, params }: Call, truth) => {
      node.page = isWhole(method, params) ? "Forbidden" : undefined;
      return truth;
    };
    expect(await takers()).toEqual(senders(1));
    expect(asked).toEqual(["0x1", ...transactions(1)]);
  });
});

it("notices a transaction that the node leaves out", async () => {
  await start([3]);
  const [lost] = transactions(1);
  node.lie = ({ method, params }: Call, truth) => {
    if (method === "eth_getTransactionByHash") return null;
    if (!isWhole(method, params)) return truth;
    const { transactions: all, ...header } = truth as Whole;
    return { ...header, transactions: all.filter(({ hash }) => hash !== lost) };
  };
  await expect(takers()).rejects.toThrow(
    `it does not have the transaction ${lost} in the block ${node.blocks[1]!.header.hash}`,
  );
});
