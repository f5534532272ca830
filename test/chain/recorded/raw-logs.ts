// Reads a recorded chain from a JSON file of blocks and logs as an Ethereum node returns them.
import { readFile } from "node:fs/promises";
import { hexToNumber, type Hex } from "viem";
import { z } from "zod";
import {
  fillerHash,
  plainHeader,
  recordBlock,
  type RawBlock,
  type RawLog,
  type RecordedChain,
} from "./recorded-chain.ts";

const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);

const FILE = z.object({
  chainId: z.number().int().positive(),
  /** May lack blocks, and be missing if each log has its blockTimestamp. */
  blocks: z
    .array(z.looseObject({ number: hex, hash: hex, parentHash: hex, timestamp: hex }))
    .default([]),
  logs: z.array(
    z.looseObject({
      address: hex,
      topics: z.array(hex),
      data: hex,
      blockNumber: hex,
      blockHash: hex,
      blockTimestamp: hex.optional(),
      transactionHash: hex,
      transactionIndex: hex,
      logIndex: hex,
    }),
  ),
  tokens: z
    .array(
      z.object({
        address: hex,
        symbol: z.string().nullable(),
        name: z.string().nullable(),
        decimals: z.number().int().nullable(),
        isBytes32: z.boolean().optional(),
      }),
    )
    .default([]),
});

export async function readRawLogs(file: string): Promise<RecordedChain> {
  return parseRawLogs(JSON.parse(await readFile(file, "utf8")));
}

/** Throws a message that names the member which is not as expected. */
export function parseRawLogs(content: unknown): RecordedChain {
  const { chainId, blocks, logs, tokens } = FILE.parse(content);
  const logsOf = new Map<Hex, RawLog[]>();
  for (const log of logs as RawLog[]) {
    const others = logsOf.get(log.blockHash);
    if (others === undefined) logsOf.set(log.blockHash, [log]);
    else others.push(log);
  }
  const headers = new Map((blocks as RawBlock[]).map((block) => [block.hash, block]));
  const hashAt = new Map<number, Hex>();
  for (const { number, hash } of blocks) hashAt.set(hexToNumber(number), hash);
  for (const { blockNumber, blockHash } of logs) hashAt.set(hexToNumber(blockNumber), blockHash);
  for (const [hash, ofBlock] of logsOf) {
    ofBlock.sort((one, other) => hexToNumber(one.logIndex) - hexToNumber(other.logIndex));
    if (!headers.has(hash)) headers.set(hash, headerFrom(hash, ofBlock, hashAt));
  }
  const recorded = [...headers.values()]
    .map((header) => {
      const ofBlock = logsOf.get(header.hash) ?? [];
      // What a trimmed header lacks.
      return recordBlock({ ...plainHeader(header, ofBlock), ...header }, ofBlock);
    })
    .sort((one, other) => one.number - other.number);
  for (const [n, { number, hash }] of recorded.entries()) {
    if (recorded[n + 1]?.number === number) {
      throw new Error(`two blocks have the number ${number}; one of them is ${hash}`);
    }
  }
  if (recorded.length === 0) throw new Error("there are neither blocks nor logs");
  return {
    chainId,
    blocks: recorded,
    tokens: tokens.map(({ isBytes32 = false, ...token }) => ({ ...token, isBytes32 })),
  };
}

/** Of a block that is known by its logs alone. */
function headerFrom(
  hash: Hex,
  logs: readonly RawLog[],
  hashAt: ReadonlyMap<number, Hex>,
): RawBlock {
  const [log] = logs;
  if (log?.blockTimestamp === undefined) {
    throw new Error(
      `block ${hash} is missing, and its logs have no blockTimestamp to make it from`,
    );
  }
  const { blockNumber: number, blockTimestamp: timestamp } = log;
  const before = hexToNumber(number) - 1;
  const parentHash = hashAt.get(before) ?? fillerHash(before);
  return {
    ...{ number, hash, parentHash, timestamp },
    transactions: [...new Set(logs.map(({ transactionHash }) => transactionHash))],
  };
}
