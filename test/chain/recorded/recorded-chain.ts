// A recorded chain in memory: its blocks, logs and transactions as JSON that is made once.
import { hexToNumber, numberToHex, type Address, type Hex } from "viem";
import { bloomOf } from "./bloom.ts";

/** A log as eth_getLogs returns it. */
export interface RawLog {
  address: Address;
  topics: Hex[];
  data: Hex;
  blockNumber: Hex;
  blockHash: Hex;
  blockTimestamp?: Hex;
  transactionHash: Hex;
  transactionIndex: Hex;
  logIndex: Hex;
  removed?: boolean;
}

/** A block as eth_getBlockByNumber returns it, with hashes of transactions or with whole ones. */
export type RawBlock = { transactions?: (Hex | RawTransaction)[] } & Record<
  "number" | "hash" | "parentHash" | "timestamp",
  Hex
> &
  Record<string, unknown>;

export type RawTransaction = { hash: Hex } & Record<string, unknown>;

/** How a token answers symbol(), name() and decimals(); null: it reverts. */
export interface RecordedToken {
  address: Address;
  symbol: string | null;
  name: string | null;
  decimals: number | null;
  /** As MKR: text in 32 bytes. */
  isBytes32?: boolean;
}

export interface RecordedBlock {
  number: number;
  hash: Hex;
  parentHash: Hex;
  timestamp: number;
  /** JSON of the block without its last member, the transactions. */
  header: Buffer;
  transactions: readonly RawTransaction[];
  logs: readonly { address: string; topics: readonly string[] }[];
  /** JSON of all logs, with commas between them. */
  logBytes: Buffer;
  /** Where the JSON of each log begins and ends. */
  bounds: readonly { start: number; end: number }[];
}

export interface RecordedChain {
  chainId: number;
  /** The exchange of a generated chain. */
  exchange?: Address;
  /** By number, with gaps where nothing is recorded. */
  blocks: RecordedBlock[];
  tokens: readonly RecordedToken[];
}

/** Makes the block's JSON. `logs` are those of this block, by their index. */
export function recordBlock(
  { transactions = [], ...header }: RawBlock,
  logs: readonly RawLog[],
): RecordedBlock {
  const texts = logs.map((log) => JSON.stringify(log));
  let start = 0;
  const bounds = texts.map((text) => {
    const bound = { start, end: start + Buffer.byteLength(text) };
    start = bound.end + 1;
    return bound;
  });
  return {
    number: hexToNumber(header.number),
    hash: header.hash,
    parentHash: header.parentHash,
    timestamp: hexToNumber(header.timestamp),
    header: Buffer.from(JSON.stringify(header).slice(0, -1)),
    transactions: transactions.map((transaction) =>
      typeof transaction === "string" ? { hash: transaction } : transaction,
    ),
    logs: logs.map(({ address, topics }) => ({
      address: address.toLowerCase(),
      topics: topics.map((topic) => topic.toLowerCase()),
    })),
    logBytes: Buffer.from(texts.join(",")),
    bounds,
  };
}

/** A header with what an indexer reads; the members that it does not read are the same in each. */
export function plainHeader(
  block: Record<"number" | "hash" | "parentHash" | "timestamp", Hex>,
  logs: readonly RawLog[],
): RawBlock {
  const zero: Hex = `0x${"0".repeat(64)}`;
  return {
    ...block,
    sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    miner: `0x${"0".repeat(40)}`,
    stateRoot: zero,
    transactionsRoot: zero,
    receiptsRoot: zero,
    logsBloom: bloomOf(logs),
    difficulty: "0x0",
    gasLimit: "0x1c9c380",
    gasUsed: numberToHex(logs.length * 50_000),
    extraData: "0x",
    mixHash: zero,
    nonce: "0x0000000000000000",
    baseFeePerGas: "0x3b9aca00",
    size: "0x400",
    totalDifficulty: "0x0",
    uncles: [],
  };
}

/** The hash of a block that is not recorded; its number can be read from it. */
export const fillerHash = (number: number): Hex =>
  `0xf111e4${Math.max(number, 0).toString(16).padStart(58, "0")}`;
