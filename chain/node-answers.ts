// The forms of a node's answers that the indexer reads. What has another form counts as no answer.
import { z } from "zod";
import type { ChainLog } from "./exchange-facts.ts";

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/)
  .transform(Number)
  .refine(Number.isSafeInteger, "is too large");
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase());

/** The end of the year 9999, in seconds: PostgreSQL and JavaScript write a later time in other ways. */
export const LATEST_TIME = 253_402_300_799;

const header = z.object({
  number: quantity,
  hash,
  parentHash: hash,
  timestamp: quantity.refine((time) => time <= LATEST_TIME, "is after the year 9999"),
  logsBloom: z.string().regex(/^0x[0-9a-fA-F]{512}$/),
});

/** What is read of a block. */
export interface Header {
  number: number;
  hash: string;
  parent: string;
  /** Seconds since 1970. */
  time: number;
  logsBloom: string;
}

/** A header; undefined where the node does not have the block. */
export function readHeader(result: unknown): Header | undefined {
  if (result === null || result === undefined) return undefined;
  const { parentHash, timestamp, ...rest } = form(header, result);
  return { ...rest, parent: parentHash, time: timestamp };
}

const address = /^0x[0-9a-fA-F]{40}$/;
const TOPIC = /^0x[0-9a-fA-F]{64}$/;
const data = /^0x([0-9a-fA-F]{2})*$/;

/** Logs in the order of the chain. By hand: zod takes longer for a log than all the rest of it. */
export function readLogs(result: unknown): ChainLog[] {
  if (!Array.isArray(result)) throw new Error("the answer is no list of logs");
  return result.map(readLog).sort((one, other) => one.block - other.block || one.idx - other.idx);
}

function readLog(given: unknown): ChainLog {
  const log = given as Record<string, unknown>;
  if (log["removed"] === true) throw new Error("a log is marked as removed");
  const topics = log["topics"];
  const bytes = log["data"];
  const contract = log["address"];
  if (
    !Array.isArray(topics) ||
    !topics.every((topic) => typeof topic === "string" && TOPIC.test(topic)) ||
    typeof bytes !== "string" ||
    !data.test(bytes) ||
    typeof contract !== "string" ||
    !address.test(contract)
  ) {
    throw new Error("a log lacks its address, topics or data");
  }
  return {
    address: contract.toLowerCase(),
    topics: topics.map((topic: string) => topic.toLowerCase() as ChainLog["topics"][number]),
    data: bytes as ChainLog["data"],
    block: readNumber(log["blockNumber"]),
    hash: readHash(log["blockHash"]),
    time: readLogTime(log["blockTimestamp"]),
    tx: readHash(log["transactionHash"]),
    idx: readNumber(log["logIndex"]),
  };
}

const HASH = /^0x[0-9a-f]{64}$/;

function readHash(given: unknown): string {
  if (typeof given === "string") {
    const hash = given.toLowerCase();
    if (HASH.test(hash)) return hash;
  }
  throw new Error(`${JSON.stringify(given)} is no hash`);
}

/** Nodes that do not have the time with a log leave it out, or send null, 0 or a number of JSON. */
function readLogTime(given: unknown): number | undefined {
  if (given === undefined || given === null || typeof given === "number") return undefined;
  const time = readNumber(given);
  return time === 0 ? undefined : time;
}

function readNumber(given: unknown): number {
  const number = typeof given === "string" && given.startsWith("0x") ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`${JSON.stringify(given)} is no number in hex`);
}

/** The id of a chain. Like the other quantities it is text: a number of JSON is none. */
export function readChainId(given: unknown): number {
  const id = typeof given === "string" && /^0x[0-9a-fA-F]+$/.test(given) ? Number(given) : 0;
  if (id > 0 && Number.isSafeInteger(id)) return id;
  throw new Error(
    `${JSON.stringify(given)} is no id of a chain: that is a number in hex, from 0x1 to 0x1fffffffffffff`,
  );
}

function form<T>(schema: z.ZodType<T>, result: unknown): T {
  const { data: read, error } = schema.safeParse(result);
  if (error === undefined) return read;
  const [issue] = error.issues;
  throw new Error(
    `the answer has not the form of one: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`,
  );
}
