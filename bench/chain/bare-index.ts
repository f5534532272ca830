// The bound of a backfill: the same logs by the same ranges, viem's decodeEventLog, and COPY into bare tables.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import { decodeEventLog, type Hex } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { RangeSize } from "../../chain/ranges.ts";
import { connect, type Client } from "../../db/connect.ts";
import { EXCHANGE_EVENTS } from "../../test/chain/exchange-abi.ts";
import type { NodeProcess } from "./node-process.ts";
import type { RawLog } from "../../test/chain/recorded/recorded-chain.ts";

const SHARED = "pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx";
const TABLES = {
  bare_offer: { like: "dex_offer", columns: `id, ${SHARED}` },
  bare_trade: { like: "dex_trade", columns: `offer_id, taker, idx, ${SHARED}` },
  bare_kill: { like: "dex_offer", columns: "id, killed" },
} as const;

type Lines = Record<keyof typeof TABLES, string[]>;

/** Tables with the columns that the events give, and their types, without keys, checks and indexes. */
export async function makeBareTables(url: string): Promise<void> {
  const client = await connect(url);
  try {
    for (const [table, { like, columns }] of Object.entries(TABLES)) {
      await client.query(`create table ${table} as select ${columns} from ${like} with no data`);
    }
  } finally {
    await client.end();
  }
}

/** Seconds of the whole. */
export async function copyBare(url: string, node: NodeProcess): Promise<number> {
  const began = performance.now();
  const client = await connect(url);
  try {
    const lines: Lines = { bare_offer: [], bare_trade: [], bare_kill: [] };
    const size = new RangeSize();
    for (let from = node.firstBlock; from <= node.lastBlock;) {
      const to = Math.min(node.lastBlock, from + size.blocks - 1);
      const logs = await node.ask<RawLog[]>("eth_getLogs", {
        fromBlock: `0x${from.toString(16)}`,
        toBlock: `0x${to.toString(16)}`,
        address: node.exchange,
        topics: [matchingMarket.topics],
      });
      size.taken(to - from + 1, decode(logs, lines));
      from = to + 1;
    }
    await client.query("begin");
    await copy(client, lines);
    await client.query("commit");
  } finally {
    await client.end();
  }
  return (performance.now() - began) / 1000;
}

/** Adds the lines of these logs; returns their number. */
function decode(logs: readonly RawLog[], { bare_offer, bare_trade, bare_kill }: Lines): number {
  let count = 0;
  for (const log of logs) {
    const { topics, data, blockNumber, logIndex, transactionHash } = log;
    const { eventName, args } = decodeEventLog({
      abi: EXCHANGE_EVENTS,
      topics: topics as [Hex, ...Hex[]],
      data,
    });
    if (eventName !== "LogMake" && eventName !== "LogTake" && eventName !== "LogKill") continue;
    count += 1;
    const id = Number(args.id);
    const block = Number(blockNumber);
    if (eventName === "LogKill") {
      bare_kill.push(`${id}\t${block}\n`);
      continue;
    }
    const { pair, maker, pay_gem: lot, buy_gem: bid } = args;
    const time = new Date(Number(args.timestamp) * 1000).toISOString();
    const place = `${block}\t${time}\t${transactionHash}`;
    if (eventName === "LogMake") {
      const { pay_amt: lotAmount, buy_amt: bidAmount } = args;
      bare_offer.push(
        `${id}\t${pair}\t${maker}\t${lot}\t${lotAmount}\t${bid}\t${bidAmount}\t${place}\n`,
      );
      continue;
    }
    const { taker, take_amt: lotAmount, give_amt: bidAmount } = args;
    bare_trade.push(
      `${id}\t${taker}\t${Number(logIndex)}\t${pair}\t${maker}\t${lot}\t${lotAmount}\t${bid}\t${bidAmount}\t${place}\n`,
    );
  }
  return count;
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
