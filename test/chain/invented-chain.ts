// A chain that a test makes up, and a node of it whose every answer the test can replace. Nothing of it is shared with
// the indexer or with the recorded node.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  concatHex,
  encodeAbiParameters,
  keccak256,
  numberToHex,
  padHex,
  stringToHex,
  toEventSelector,
  toFunctionSelector,
  type Hex,
} from "viem";

export const EXCHANGE: Hex = "0x39755357759ce0d7f32dc8dc45414cca409ae24e";
export const WETH: Hex = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
export const DAI: Hex = "0x6b175474e89094c44da98b954eedeac495271d0f";
export const MAKER: Hex = "0x0014f450b8ae7708593f4a46f8fa6e5d50620f96";
const TAKER: Hex = "0x005c9b2e5a1ab3c9f1b3ae2cd5f6a8ec0ef0c3a1";
const OTHER: Hex = "0xdac17f958d2ee523a2206206994597c13d831ec7";
export const PAIR = keccak256(concatHex([WETH, DAI]));

const OFFER = "bytes32,bytes32,address,address,address,uint128,uint128,uint64";
const TOPIC = {
  make: toEventSelector(`LogMake(${OFFER})`),
  kill: toEventSelector(`LogKill(${OFFER})`),
  take: toEventSelector(
    "LogTake(bytes32,bytes32,address,address,address,address,uint128,uint128,uint64)",
  ),
  trade: toEventSelector("LogTrade(uint256,address,uint256,address)"),
  update: toEventSelector("LogItemUpdate(uint256)"),
  list: toEventSelector("LogAddTokenPairWhitelist(address,address)"),
  transfer: toEventSelector("Transfer(address,address,uint256)"),
};

export interface Log {
  address: Hex;
  topics: Hex[];
  data: Hex;
  blockNumber: Hex | null;
  blockHash: Hex;
  blockTimestamp: Hex;
  transactionHash: Hex;
  logIndex: Hex;
  removed: boolean;
}

export interface Block {
  number: Hex;
  hash: Hex;
  parentHash: Hex;
  timestamp: Hex;
  logsBloom: Hex;
}

/** What one transaction does: an offer is of 10 WETH for 2,000 DAI, and a take of so many WETH. */
export type Act =
  | { do: "list" }
  | ({ do: "make" } & Of)
  | ({ do: "take"; id: number; lot: number } & Of)
  | ({ do: "kill"; id: number } & Of)
  | { do: "other" }
  /** An event of the exchange's address, or of another. */
  | { do: "emit"; address?: Hex; topics: Hex[]; data: Hex }
  /** Events of one transaction. */
  | { do: "emit all"; events: { address?: Hex; topics: Hex[]; data: Hex }[] };

/** The contract whose offers they are: the exchange, or another of its kind. */
interface Of {
  address?: Hex;
}

interface State {
  lastOffer: number;
  /** WETH that are left. */
  left: Map<number, number>;
}

export interface MadeBlock {
  header: Block;
  logs: Log[];
  /** Of each contract, by its address in lower case. */
  states: ReadonlyMap<string, State>;
}

const word = (n: number | bigint) => numberToHex(n, { size: 32 });
const topic = (address: Hex) => padHex(address, { size: 32 });
const UNIT = 10n ** 18n;
const amounts = (lot: number): [bigint, bigint] => [BigInt(lot) * UNIT, BigInt(lot) * 200n * UNIT];

/** Blocks from 0 on, with these transactions. A branch has other hashes from its first block on. */
export function chainOf(
  acts: readonly Act[][],
  branch = "",
  base: readonly MadeBlock[] = [],
): MadeBlock[] {
  const blocks = [...base];
  for (let number = base.length; number < acts.length; number += 1) {
    const before = blocks.at(-1);
    const hash = keccak256(stringToHex(`block ${number} ${branch}`));
    const time = 1_600_000_000 + 12 * number;
    const states = new Map<string, State>();
    for (const [of, { lastOffer, left }] of before?.states ?? []) {
      states.set(of, { lastOffer, left: new Map(left) });
    }
    const logs: Log[] = [];
    for (const [n, act] of (acts[number] ?? []).entries()) {
      const tx = keccak256(stringToHex(`${number} ${n} ${branch}`));
      const { address: of = EXCHANGE } = act as Of;
      const state = states.get(of) ?? { lastOffer: 0, left: new Map<number, number>() };
      states.set(of, state);
      for (const { address = of, topics, data } of eventsOf(act, state, time)) {
        logs.push({
          ...{ address, topics, data, removed: false },
          ...{
            blockNumber: numberToHex(number),
            blockHash: hash,
            blockTimestamp: numberToHex(time),
          },
          ...{ transactionHash: tx, logIndex: numberToHex(logs.length) },
        });
      }
    }
    const header = {
      ...{ number: numberToHex(number), hash, timestamp: numberToHex(time) },
      parentHash: before?.header.hash ?? word(0),
      logsBloom: bloomOf(logs),
    };
    blocks.push({ header, logs, states });
  }
  return blocks;
}

function eventsOf(
  act: Act,
  state: State,
  time: number,
): { address?: Hex; topics: Hex[]; data: Hex }[] {
  const terms = (lot: number): Hex => {
    const types = ["address", "address", "uint128", "uint128", "uint64"].map((type) => ({ type }));
    return encodeAbiParameters(types, [WETH, DAI, ...amounts(lot), BigInt(time)]);
  };
  const update = (id: number) => ({ topics: [TOPIC.update], data: word(id) });
  switch (act.do) {
    case "list":
      return [{ topics: [TOPIC.list], data: concatHex([topic(WETH), topic(DAI)]) }];
    case "emit":
      return [act];
    case "emit all":
      return act.events;
    case "other":
      return [
        { address: OTHER, topics: [TOPIC.transfer, topic(MAKER), topic(TAKER)], data: word(7) },
      ];
    case "make": {
      state.lastOffer += 1;
      const id = state.lastOffer;
      state.left.set(id, 10);
      return [update(id), { topics: [TOPIC.make, word(id), PAIR, topic(MAKER)], data: terms(10) }];
    }
    case "take": {
      const { id, lot } = act;
      const left = (state.left.get(id) ?? 0) - lot;
      if (left > 0) state.left.set(id, left);
      else state.left.delete(id);
      const [pay, buy] = amounts(lot);
      return [
        update(id),
        {
          topics: [TOPIC.take, PAIR, topic(MAKER), topic(TAKER)],
          data: concatHex([word(id), terms(lot)]),
        },
        {
          topics: [TOPIC.trade, topic(WETH), topic(DAI)],
          data: concatHex([word(pay), word(buy)]),
        },
      ];
    }
    case "kill": {
      const left = state.left.get(act.id) ?? 0;
      state.left.delete(act.id);
      return [
        update(act.id),
        { topics: [TOPIC.kill, word(act.id), PAIR, topic(MAKER)], data: terms(left) },
      ];
    }
  }
}

function bloomOf(logs: readonly Log[]): Hex {
  let bloom = 0n;
  for (const item of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const hash = BigInt(keccak256(item));
    for (const shift of [240n, 224n, 208n]) bloom |= 1n << ((hash >> shift) & 2047n);
  }
  return numberToHex(bloom, { size: 256 });
}

export interface Call {
  id: number;
  method: string;
  params: never[];
}

interface Filter {
  address?: string | string[];
  topics?: (Hex | Hex[] | null)[];
  fromBlock?: Hex;
  toBlock?: Hex;
  blockHash?: Hex;
}

export interface InventedNode {
  url: string;
  blocks: MadeBlock[];
  finalized: number;
  chainId: number;
  /** Replaces an answer; `truth` computes the right one. */
  lie: ((call: Call, truth: unknown) => unknown) | undefined;
  /** Sent with status 403 in place of every answer. */
  page: string | undefined;
  /** The logs that it answers from. */
  logs: (blocks: readonly MadeBlock[]) => Log[];
  calls: string[];
  stop(): Promise<void>;
}

const SYMBOL = toFunctionSelector("function symbol()");
const NAME = toFunctionSelector("function name()");
const DECIMALS = toFunctionSelector("function decimals()");
const LAST = toFunctionSelector("function last_offer_id()");
const OF = toFunctionSelector("function getOffer(uint256)");

export async function startInventedNode(
  blocks: MadeBlock[],
  finalized: number,
): Promise<InventedNode> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const calls = [JSON.parse(body) as Call | Call[]].flat();
      const answers = calls.map((call) => {
        node.calls.push(call.method);
        const truth = truthOf(node, call);
        const result = node.lie === undefined ? truth : node.lie(call, truth);
        return result instanceof Error
          ? { jsonrpc: "2.0", id: call.id, error: { code: -32000, message: result.message } }
          : { jsonrpc: "2.0", id: call.id, result: result ?? null };
      });
      if (node.page !== undefined) response.statusCode = 403;
      response.end(node.page ?? JSON.stringify(answers));
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const node: InventedNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ blocks, finalized, chainId: 1, lie: undefined, page: undefined, calls: [] },
    logs: (all) => all.flatMap(({ logs }) => logs),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return node;
}

function truthOf(node: InventedNode, { method, params }: Call): unknown {
  const { blocks } = node;
  const [first, second] = params as unknown[];
  const at = (block: unknown): MadeBlock | undefined => {
    if (block === "latest") return blocks.at(-1);
    if (block === "finalized") return blocks[node.finalized];
    if (typeof block === "string") return blocks[Number(block)];
    const { blockHash } = block as { blockHash: Hex };
    return blocks.find(({ header }) => header.hash === blockHash);
  };
  switch (method) {
    case "eth_chainId":
      return numberToHex(node.chainId);
    case "eth_getBlockByNumber": {
      const block = at(first);
      if (block === undefined || second !== true) return block?.header;
      return { ...block.header, transactions: [...transactionsOf([block]).values()] };
    }
    case "eth_getTransactionByHash":
      return transactionsOf(blocks).get(first as Hex);
    case "eth_getLogs": {
      const { address, topics: [kinds] = [], fromBlock, toBlock, blockHash } = first as Filter;
      return node.logs(blocks).filter(
        (log) =>
          (address === undefined || [address].flat().includes(log.address)) &&
          // As nodes do: a list without topics is any topic.
          (kinds == null || kinds.length === 0 || kinds.includes(log.topics[0]!)) &&
          (blockHash === undefined
            ? Number(log.blockNumber) >= Number(fromBlock) &&
              Number(log.blockNumber) <= Number(toBlock)
            : log.blockHash === blockHash),
      );
    }
    case "eth_getCode":
      return "0x00";
    case "eth_call": {
      const states = at(second)?.states;
      if (states === undefined) return new Error("missing trie node");
      return callOf(first as { to: Hex; data: Hex }, states);
    }
  }
  return new Error(`the method ${method} does not exist`);
}

/** Of each transaction another account. */
export const senderOf = (transaction: Hex): Hex => `0x${transaction.slice(-40)}`;

function transactionsOf(blocks: readonly MadeBlock[]) {
  const logs = blocks.flatMap((block) => block.logs);
  return new Map(
    logs.map(({ transactionHash: hash, blockHash, blockNumber }) => {
      return [hash, { hash, from: senderOf(hash), blockHash, blockNumber }];
    }),
  );
}

function callOf({ to, data }: { to: Hex; data: Hex }, states: ReadonlyMap<string, State>): unknown {
  const { lastOffer = 0, left } = states.get(to.toLowerCase()) ?? {};
  const token = { [WETH]: "WETH", [DAI]: "DAI" }[to.toLowerCase()];
  switch (data.slice(0, 10)) {
    case SYMBOL:
    case NAME:
      return token === undefined ? "0x" : padHex(stringToHex(token), { size: 32, dir: "right" });
    case DECIMALS:
      return token === undefined ? "0x" : word(18);
    case LAST:
      return word(lastOffer);
    case OF: {
      const [lot, bid] = amounts(left?.get(Number(`0x${data.slice(10)}`)) ?? 0);
      return lot === 0n
        ? concatHex([word(0), word(0), word(0), word(0)])
        : concatHex([word(lot), topic(WETH), word(bid), topic(DAI)]);
    }
  }
  return new Error("execution reverted");
}
