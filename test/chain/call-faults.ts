// The faults of one JSON-RPC call: what a node that lies makes of an answer.
import { hexToNumber, numberToHex, type Hex } from "viem";
import { refusalOf, type Provider, type RpcError } from "./refusals.ts";

export interface RpcCall {
  id?: number | string | null;
  method: string;
  params?: unknown[];
}

/** `status`: the HTTP status of a provider that refuses with one. */
export type Reply =
  { result: unknown; error?: undefined } | { error: RpcError; result?: undefined; status?: number };

export type CallFault =
  | { name: "RPC error"; code: number; message: string; data?: unknown }
  /** Refuses eth_getLogs past a limit of blocks or logs, the provider's own if not given. */
  | { name: "range refused"; provider: Provider; limit?: number }
  /** Leaves logs out without a word. */
  | { name: "dropped logs"; which: "all" | "first" | "middle" | "last" }
  /** Leaves out all logs of a transaction. */
  | { name: "dropped transaction"; which: "first" | "middle" | "last" }
  /** The first so many logs of a range, as if there were no more. */
  | { name: "silent limit"; logs: number }
  /** The first log has this address. */
  | { name: "foreign log"; address?: Hex }
  /** Logs with `removed: true`. */
  | { name: "removed logs" }
  /** Each log twice. */
  | { name: "repeated logs" }
  | { name: "reversed logs" }
  /** Logs whose block has another hash. */
  | { name: "logs of another block" }
  /** Logs without `blockTimestamp`. */
  | { name: "logs without time" }
  /** Whatever is asked is answered as so many blocks ago: head, blocks, logs. */
  | { name: "behind"; blocks: number }
  /** Only the height is that of so many blocks ago. */
  | { name: "old height"; blocks: number }
  /** Another node answers, on another branch for instance; with `every: 2` two heads in turn. */
  | { name: "other node"; url: string }
  | { name: "other chain"; chainId: number }
  /** A block with another hash than its own. */
  | { name: "wrong hash" }
  /** A block with another parent than its own. */
  | { name: "wrong parent" }
  /** null in the place of a block. */
  | { name: "no block" }
  /** A block whose bloom has nothing, everything, or a bit that hardly a log has. */
  | { name: "wrong bloom"; bloom: "empty" | "full" | "other" };

const BLOOMS = {
  empty: `0x${"0".repeat(512)}`,
  full: `0x${"f".repeat(512)}`,
  other: `0x${"0".repeat(511)}1`,
};

/** Asks the node behind, or the one at a URL. */
export type Upstream = (method: string, params: unknown[], at?: string) => Promise<Reply>;

type Block = Record<"hash" | "parentHash" | "number", Hex> & Record<string, unknown>;
type Log = Record<"address" | "blockHash" | "blockNumber" | "transactionHash", Hex> &
  Record<string, unknown>;
interface Filter {
  fromBlock?: string;
  toBlock?: string;
  blockHash?: Hex;
}

/** `takes` says whether the fault applies this time, and counts it. */
export interface DrawnFault {
  fault: CallFault;
  takes: () => boolean;
}

type Next = (call: RpcCall) => Promise<Reply>;

/** The answer to a call under faults, of which the first meets the caller's call first. */
export function answerUnder(
  drawn: readonly DrawnFault[],
  call: RpcCall,
  upstream: Upstream,
): Promise<Reply> {
  const [first, ...others] = drawn;
  if (first === undefined) return upstream(call.method, call.params ?? []);
  const next: Next = (passed) => answerUnder(others, passed, upstream);
  return lie(first, call, next, upstream);
}

async function lie(
  { fault, takes }: DrawnFault,
  call: RpcCall,
  next: Next,
  upstream: Upstream,
): Promise<Reply> {
  const { method } = call;
  switch (fault.name) {
    case "RPC error": {
      const { code, message, data } = fault;
      if (!takes()) return next(call);
      return { error: { code, message, ...(data !== undefined && { data }) } };
    }
    case "other node":
      return takes() ? upstream(method, call.params ?? [], fault.url) : next(call);
    case "other chain":
      if (method !== "eth_chainId" || !takes()) return next(call);
      return { result: numberToHex(fault.chainId) };
    case "old height": {
      const reply = await next(call);
      if (method !== "eth_blockNumber" || reply.error || !takes()) return reply;
      return { result: earlier(reply.result as Hex, fault.blocks) };
    }
    case "behind":
      return behind(fault.blocks, takes, call, next);
    case "range refused":
      return refuseRange(fault, takes, call, next);
    case "no block": {
      const reply = await next(call);
      return blockOf(call, reply) !== undefined && takes() ? { result: null } : reply;
    }
    case "wrong hash":
      return changeBlock(call, next, takes, ({ hash, ...block }) => ({
        ...block,
        hash: otherHash(hash),
      }));
    case "wrong parent":
      return changeBlock(call, next, takes, ({ parentHash, ...block }) => ({
        ...block,
        parentHash: otherHash(parentHash),
      }));
    case "wrong bloom":
      return changeBlock(call, next, takes, (block) => ({
        ...block,
        logsBloom: BLOOMS[fault.bloom],
      }));
    case "dropped logs":
      return changeLogs(call, next, takes, (logs) => logs.filter(notDropped(fault.which)));
    case "dropped transaction":
      return changeLogs(call, next, takes, (logs) => {
        const hashes = [...new Set(logs.map(({ transactionHash }) => transactionHash))];
        const dropped = hashes.find((hash, n) => !notDropped(fault.which)(hash, n, hashes));
        return logs.filter(({ transactionHash }) => transactionHash !== dropped);
      });
    case "silent limit": {
      const reply = await next(call);
      if (method !== "eth_getLogs" || reply.error) return reply;
      const logs = reply.result as Log[];
      return logs.length > fault.logs && takes() ? { result: logs.slice(0, fault.logs) } : reply;
    }
    case "foreign log": {
      const { address = `0x${"e".repeat(40)}` } = fault;
      return changeLogs(call, next, takes, ([first, ...rest]) => [{ ...first!, address }, ...rest]);
    }
    case "removed logs":
      return changeLogs(call, next, takes, (logs) =>
        logs.map((log) => ({ ...log, removed: true })),
      );
    case "repeated logs":
      return changeLogs(call, next, takes, (logs) => logs.flatMap((log) => [log, log]));
    case "reversed logs":
      return changeLogs(call, next, takes, (logs) => logs.toReversed());
    case "logs of another block":
      return changeLogs(call, next, takes, (logs) =>
        logs.map((log) => ({ ...log, blockHash: otherHash(log.blockHash) })),
      );
    case "logs without time":
      return changeLogs(call, next, takes, (logs) => logs.map(withoutTime));
  }
}

const earlier = (height: Hex, blocks: number): Hex =>
  numberToHex(Math.max(hexToNumber(height) - blocks, 0));

/** A hash that no block has; the same for the same hash. */
const otherHash = (hash: Hex): Hex => `0x${hash.slice(2).split("").toReversed().join("")}`;

function withoutTime(log: Log): Log {
  const { blockTimestamp: _, ...timeless } = log;
  return timeless;
}

function notDropped(which: "all" | "first" | "middle" | "last") {
  return (_: unknown, n: number, { length }: readonly unknown[]): boolean => {
    if (which === "all") return false;
    const dropped = { first: 0, middle: Math.floor(length / 2), last: length - 1 }[which];
    return n !== dropped;
  };
}

function blockOf({ method }: RpcCall, { result }: Reply): Block | undefined {
  const isBlock = method === "eth_getBlockByNumber" || method === "eth_getBlockByHash";
  return isBlock && result !== null && result !== undefined ? (result as Block) : undefined;
}

async function changeBlock(
  call: RpcCall,
  next: Next,
  takes: () => boolean,
  change: (block: Block) => object,
): Promise<Reply> {
  const reply = await next(call);
  const block = blockOf(call, reply);
  return block !== undefined && takes() ? { result: change(block) } : reply;
}

/** Where there are no logs there is nothing to lie about. */
async function changeLogs(
  call: RpcCall,
  next: Next,
  takes: () => boolean,
  change: (logs: Log[]) => Log[],
): Promise<Reply> {
  const reply = await next(call);
  if (call.method !== "eth_getLogs" || reply.error) return reply;
  const logs = reply.result as Log[];
  return logs.length > 0 && takes() ? { result: change(logs) } : reply;
}

const TAGS = new Set(["latest", "pending", "safe", "finalized"]);

/** All methods that know a height see the same earlier one. */
async function behind(
  blocks: number,
  takes: () => boolean,
  call: RpcCall,
  next: Next,
): Promise<Reply> {
  const { method, params = [] } = call;
  const isOfBlock = method === "eth_getBlockByNumber" || method === "eth_getBlockByHash";
  if (!isOfBlock && method !== "eth_blockNumber" && method !== "eth_getLogs") return next(call);
  if (!takes()) return next(call);

  const heightOf = async (tag: unknown): Promise<number> => {
    const { result } = await next({ method: "eth_getBlockByNumber", params: [tag, false] });
    return Math.max(hexToNumber((result as Block).number) - blocks, 0);
  };
  const head = await heightOf("latest");
  if (method === "eth_blockNumber") return { result: numberToHex(head) };
  if (method === "eth_getBlockByNumber" && TAGS.has(String(params[0]))) {
    const height = numberToHex(await heightOf(params[0]));
    return next({ ...call, params: [height, ...params.slice(1)] });
  }
  const reply = await next(call);
  if (method === "eth_getLogs") return logsUpTo(head, params[0] as Filter, reply, next);
  const block = blockOf(call, reply);
  return block !== undefined && hexToNumber(block.number) > head ? { result: null } : reply;
}

async function logsUpTo(head: number, filter: Filter, reply: Reply, next: Next): Promise<Reply> {
  if (reply.error) return reply;
  if (filter.blockHash !== undefined) {
    const { result } = await next({
      method: "eth_getBlockByHash",
      params: [filter.blockHash, false],
    });
    const isKnown = result !== null && hexToNumber((result as Block).number) <= head;
    return isKnown ? reply : { error: { code: -32000, message: "unknown block" } };
  }
  const logs = reply.result as Log[];
  return { result: logs.filter(({ blockNumber }) => hexToNumber(blockNumber) <= head) };
}

async function refuseRange(
  fault: CallFault & { name: "range refused" },
  takes: () => boolean,
  call: RpcCall,
  next: Next,
): Promise<Reply> {
  if (call.method !== "eth_getLogs") return next(call);
  const filter = call.params?.[0] as Filter;
  if (filter.blockHash !== undefined) return next(call);
  const refusal = refusalOf(fault.provider);
  const { limit = refusal.limit } = fault;
  const from = await heightAt(filter.fromBlock, next);
  const to = await heightAt(filter.toBlock, next);
  const reply = await next(call);
  if (reply.error) return reply;

  const allowed =
    refusal.of === "blocks" ? from + limit - 1 : lastWithin(limit, reply.result as Log[], from, to);
  if (allowed >= to || !takes()) return reply;
  return {
    error: refusal.error({ from, to, limit, allowed: Math.max(allowed, from) }),
    ...(refusal.status !== undefined && { status: refusal.status }),
  };
}

/** The last block up to which there are no more logs than the limit. */
function lastWithin(limit: number, logs: Log[], from: number, to: number): number {
  const beyond = logs[limit];
  return beyond === undefined ? to : Math.max(hexToNumber(beyond.blockNumber) - 1, from - 1);
}

async function heightAt(block: string | undefined, next: Next): Promise<number> {
  if (block?.startsWith("0x")) return hexToNumber(block as Hex);
  if (block === "earliest") return 0;
  const { result } = await next({ method: "eth_getBlockByNumber", params: [block, false] });
  return hexToNumber((result as Block).number);
}
