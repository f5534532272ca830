// The bound of a backfill: the same logs by the same ranges, their words cut by hand, and COPY into bare tables.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import { parseAbi, toEventSelector } from "viem";
import { RangeSize } from "../../chain/ranges.ts";
import { connect, type Client } from "../../db/connect.ts";
import { EXCHANGE_EVENTS } from "../../test/chain/exchange-abi.ts";
import type { NodeProcess } from "./node-process.ts";
import type { RawLog } from "../../test/chain/recorded/recorded-chain.ts";

const SHARED = "lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx";
const TABLES = {
  bare_offer: { like: "dex_offer", columns: `id, pair, maker, ${SHARED}` },
  bare_trade: { like: "dex_trade", columns: `offer_id, pair, maker, taker, idx, ${SHARED}` },
  bare_kill: { like: "dex_offer", columns: "id, killed" },
  bare_state: { like: "dex_pool_state", columns: "venue, reserve0, reserve1, block" },
} as const;

const PAIR_EVENTS = parseAbi([
  "event PairCreated(address indexed, address indexed, address, uint256)",
  "event Sync(uint112, uint112)",
  "event Swap(address indexed, uint256, uint256, uint256, uint256, address indexed)",
]);
/** By topic 0. */
const NAMES = new Map<string, string>(
  [...EXCHANGE_EVENTS, ...PAIR_EVENTS].map((event) => [toEventSelector(event), event.name]),
);

type Lines = Record<keyof typeof TABLES, string[]>;

/** Seconds of the whole, into tables with the columns that the events give, and their types, without keys, checks and indexes. */
export async function copyBare(url: string, node: NodeProcess): Promise<number> {
  const client = await connect(url);
  try {
    for (const [table, { like, columns }] of Object.entries(TABLES)) {
      await client.query(`create table ${table} as select ${columns} from ${like} with no data`);
    }
    const began = performance.now();
    const lines: Lines = { bare_offer: [], bare_trade: [], bare_kill: [], bare_state: [] };
    const tokens = new Map<string, readonly string[]>();
    const size = new RangeSize();
    for (let from = node.firstBlock; from <= node.lastBlock;) {
      const to = Math.min(node.lastBlock, from + size.blocks - 1);
      const logs = await node.ask<RawLog[]>("eth_getLogs", {
        ...{ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` },
        ...(node.pools === 0 && { address: node.exchange }),
        topics: [node.decoder.topics],
      });
      size.taken(to - from + 1, logs.filter((log) => cut(log, lines, tokens)).length);
      from = to + 1;
    }
    await client.query("begin");
    await copy(client, lines);
    await client.query("commit");
    return (performance.now() - began) / 1000;
  } finally {
    await client.end();
  }
}

/** Adds the line of a log; false where it gives none. `tokens` are those of the pairs so far. */
function cut(log: RawLog, lines: Lines, tokens: Map<string, readonly string[]>): boolean {
  const { address, topics, data, transactionHash: tx } = log;
  const word = (n: number): string => data.slice(2 + 64 * n, 66 + 64 * n);
  const amount = (n: number): bigint => BigInt(`0x${word(n)}`);
  const addressOf = (given = ""): string => `0x${given.slice(-40)}`;
  const [block, idx] = [Number(log.blockNumber), Number(log.logIndex)];
  const place = () => [block, new Date(Number(log.blockTimestamp) * 1000).toISOString(), tx];
  const amounts = (n: number) => [n, n + 1].flatMap((at) => [addressOf(word(at)), amount(at + 2)]);
  const add = (table: keyof Lines, values: unknown[]): boolean =>
    lines[table].push(`${values.join("\t")}\n`) > 0;
  switch (NAMES.get(topics[0] ?? "")) {
    case "LogMake": {
      const made = [BigInt(topics[1] ?? 0), topics[2], addressOf(topics[3])];
      return add("bare_offer", [...made, ...amounts(0), ...place()]);
    }
    case "LogTake": {
      const taken = [amount(0), topics[1], addressOf(topics[2]), addressOf(topics[3]), idx];
      return add("bare_trade", [...taken, ...amounts(1), ...place()]);
    }
    case "LogKill":
      return add("bare_kill", [BigInt(topics[1] ?? 0), block]);
    case "PairCreated":
      tokens.set(addressOf(word(0)), topics.slice(1).map(addressOf));
      return false;
    case "Sync":
      return add("bare_state", [address, amount(0), amount(1), block]);
    case "Swap": {
      const both = tokens.get(address) ?? [];
      const moved = [amount(0) - amount(2), amount(1) - amount(3)] as const;
      const [lot, bid] = moved[0] < 0n ? ([0, 1] as const) : ([1, 0] as const);
      const row = ["\\N", "\\N", address, addressOf(topics[2]), idx, both[lot], -moved[lot]];
      return add("bare_trade", [...row, both[bid], moved[bid], ...place()]);
    }
  }
  return false;
}

const CHUNK_LINES = 500;

async function copy(client: Client, lines: Lines): Promise<void> {
  for (const [table, { columns }] of Object.entries(TABLES)) {
    const given = lines[table as keyof Lines];
    const chunks = function* (): Generator<string> {
      for (let at = 0; at < given.length; at += CHUNK_LINES) {
        yield given.slice(at, at + CHUNK_LINES).join("");
      }
    };
    await pipeline(
      Readable.from(chunks(), { objectMode: false }),
      client.query(copyFrom(`copy ${table} (${columns}) from stdin`)),
    );
  }
}
