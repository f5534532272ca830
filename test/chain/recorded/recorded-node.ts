// An Ethereum node that serves a recorded chain from memory, over JSON-RPC.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { hexToNumber, numberToHex, stringToHex, type Hex } from "viem";
import {
  fillerHash,
  plainHeader,
  type RecordedBlock,
  type RecordedChain,
  type RecordedToken,
} from "./recorded-chain.ts";

/** Blocks behind the head that `finalized` and `safe` name. */
const FINALITY = 64;

export interface RecordedNodeOptions {
  /** The number of the newest block that is served, else the last one recorded. */
  head?: number;
  finality?: number;
}

export interface RecordedNode {
  url: string;
  firstBlock: number;
  lastBlock: number;
  /** Serves blocks up to this one, as if it were just mined. */
  setHead(number: number): void;
  /** How often each method was called. */
  calls: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

export async function startRecordedNode(
  chain: RecordedChain,
  options: RecordedNodeOptions = {},
): Promise<RecordedNode> {
  const served = new ServedChain(chain, options);
  const server = serve(served);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    firstBlock: served.first,
    lastBlock: served.last,
    setHead: (number) => served.setHead(number),
    calls: served.calls,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Call {
  id?: unknown;
  method: string;
  params?: unknown[];
}

/** The HTTP server of a chain, which does not listen yet. */
export function serve(chain: ServedChain): Server {
  const answer = ({ id = null, method, params = [] }: Call): Buffer[] => {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
    try {
      return [Buffer.from(`${head}"result":`), ...chain.result(method, params), CLOSE];
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      return [Buffer.from(`${head}"error":${JSON.stringify({ code, message, data })}}`)];
    }
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = JSON.parse((await buffer(request)).toString()) as Call | Call[];
    const parts = Array.isArray(asked)
      ? [OPEN_LIST, ...joined(asked.map(answer)), CLOSE_LIST]
      : answer(asked);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", length);
    // The logs of a range are one part, which is not copied.
    if (length > WORTH_NO_COPY) for (const part of parts) response.write(part);
    else response.write(Buffer.concat(parts));
    response.end();
  };
  return createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    respond(request, response).catch((error: unknown) => {
      response.statusCode = 400;
      response.end(String(error));
    });
  });
}

const [OPEN_LIST, CLOSE_LIST, COMMA, CLOSE] = ["[", "]", ",", "}"].map((text) =>
  Buffer.from(text),
) as [Buffer, Buffer, Buffer, Buffer];
const NULL = Buffer.from("null");

/** A client that computes for seconds does not find its connection closed. */
const KEEP_ALIVE_MS = 600_000;
/** In bytes. */
const WORTH_NO_COPY = 65_536;
/** Filters whose logs are kept; an indexer has one. */
const FILTERS_KEPT = 4;

function joined(lists: readonly Buffer[][]): Buffer[] {
  return lists.flatMap((parts, n) => (n === 0 ? parts : [COMMA, ...parts]));
}

class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Filter {
  address?: string | string[] | null;
  topics?: (string | string[] | null)[] | null;
  fromBlock?: string;
  toBlock?: string;
  blockHash?: Hex;
}

const SELECTORS: Record<string, "symbol" | "name" | "decimals"> = {
  "0x95d89b41": "symbol",
  "0x06fdde03": "name",
  "0x313ce567": "decimals",
};

/** A chain with its head. Between recorded blocks it makes up empty ones, so that hashes are a chain. */
export class ServedChain {
  readonly first: number;
  readonly last: number;
  readonly calls = new Map<string, number>();
  readonly #chain: RecordedChain;
  readonly #finality: number;
  readonly #byHash: Map<Hex, RecordedBlock>;
  readonly #tokens: Map<string, RecordedToken>;
  /** Parents of recorded blocks that are not recorded themselves: their number. */
  readonly #parents = new Map<Hex, number>();
  #ofTransaction: Map<Hex, { block: RecordedBlock; index: number }> | undefined;
  readonly #filters = new Map<string, FilteredLogs>();
  #head: number;

  constructor(chain: RecordedChain, { head, finality = FINALITY }: RecordedNodeOptions = {}) {
    const [first, last] = [chain.blocks[0], chain.blocks.at(-1)];
    if (first === undefined || last === undefined) throw new Error("the chain has no blocks");
    this.first = first.number;
    this.last = last.number;
    this.#chain = chain;
    this.#finality = finality;
    this.#head = head ?? last.number;
    this.#byHash = new Map(chain.blocks.map((block) => [block.hash, block]));
    this.#tokens = new Map(chain.tokens.map((token) => [token.address.toLowerCase(), token]));
    for (const block of chain.blocks) {
      const { parentHash, number } = block;
      if (!this.#byHash.has(parentHash)) this.#parents.set(parentHash, number - 1);
    }
  }

  setHead(number: number): void {
    if (number > this.last) throw new Error(`the last recorded block is ${this.last}`);
    this.#head = number;
  }

  /** JSON of the result, in parts. */
  result(method: string, params: readonly unknown[]): Buffer[] {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    switch (method) {
      case "eth_chainId":
        return json(numberToHex(this.#chain.chainId));
      case "net_version":
        return json(String(this.#chain.chainId));
      case "web3_clientVersion":
        return json("recorded");
      case "eth_syncing":
        return json(false);
      case "eth_blockNumber":
        return json(numberToHex(this.#head));
      case "eth_getBlockByNumber":
        return this.#block(this.#numberAt(params[0]), params[1] === true);
      case "eth_getBlockByHash":
        return this.#block(this.#numberOf(params[0] as Hex), params[1] === true);
      case "eth_getLogs":
        return this.#logs(params[0] as Filter);
      case "eth_getTransactionByHash":
        return this.#transaction(params[0] as Hex);
      case "eth_getCode":
        return json(this.#hasCode(String(params[0])) ? "0x00" : "0x");
      case "eth_call":
        return json(this.#call(params[0] as { to?: string; data?: string; input?: string }));
      // Not of Ethereum: for a benchmark that runs this node as a process.
      case "recorded_setHead":
        this.setHead(hexToNumber(params[0] as Hex));
        return json(true);
      case "recorded_calls":
        return json(Object.fromEntries(this.calls));
      case "recorded_chain": {
        const { blocks: _blocks, ...described } = this.#chain;
        return json({ ...described, first: this.first, last: this.last });
      }
      default:
        throw new RpcError(-32601, `the method ${method} does not exist/is not available`);
    }
  }

  #numberAt(block: unknown): number {
    switch (block) {
      case "latest":
      case "pending":
      case undefined:
      case null:
        return this.#head;
      case "safe":
      case "finalized":
        return Math.max(this.#head - this.#finality, 0);
      case "earliest":
        return 0;
      default:
        return hexToNumber(block as Hex);
    }
  }

  /** undefined: no block has this hash, or not yet. */
  #numberOf(hash: Hex): number | undefined {
    const recorded = this.#byHash.get(hash)?.number ?? this.#parents.get(hash);
    if (recorded !== undefined) return recorded;
    const number = hash.startsWith("0xf111e4") ? Number(`0x${hash.slice(8)}`) : undefined;
    return number !== undefined && this.#hashAt(number) === hash ? number : undefined;
  }

  /** The index of the first recorded block from this number on. */
  #indexFrom(number: number): number {
    const { blocks } = this.#chain;
    let [low, high] = [0, blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((blocks[middle]?.number ?? Infinity) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #hashAt(number: number): Hex {
    const next = this.#chain.blocks[this.#indexFrom(number)];
    if (next?.number === number) return next.hash;
    return next?.number === number + 1 ? next.parentHash : fillerHash(number);
  }

  #block(number: number | undefined, whole: boolean): Buffer[] {
    if (number === undefined || number > this.#head || number < 0) return [NULL];
    const index = this.#indexFrom(number);
    const block = this.#chain.blocks[index];
    if (block?.number !== number) return json(this.#filler(number, index));
    const { header, transactions } = block;
    const listed = whole ? transactions : transactions.map(({ hash }) => hash);
    return [header, Buffer.from(`,"transactions":${JSON.stringify(listed)}}`)];
  }

  /** An empty block between those recorded, whose time lies between theirs. */
  #filler(number: number, index: number): object {
    const before = this.#chain.blocks[index - 1];
    const after = this.#chain.blocks[index];
    const from = before ?? { number: 0, timestamp: 0 };
    const to = after ?? { number: number + 1, timestamp: from.timestamp + 1 };
    const share = (number - from.number) / (to.number - from.number);
    const timestamp = Math.floor(from.timestamp + share * (to.timestamp - from.timestamp));
    const hash = this.#hashAt(number);
    const parentHash = number === 0 ? NO_PARENT : this.#hashAt(number - 1);
    return {
      ...plainHeader(
        { number: numberToHex(number), hash, parentHash, timestamp: numberToHex(timestamp) },
        [],
      ),
      transactions: [],
    };
  }

  #logs(filter: Filter): Buffer[] {
    const [from, to] = this.#rangeOf(filter);
    const { bytes, starts } = this.#filtered(filter);
    const start = starts[this.#indexFrom(from)] ?? 0;
    const end = starts[this.#indexFrom(Math.min(to, this.#head) + 1)] ?? 0;
    // Without the comma behind the last.
    return [OPEN_LIST, bytes.subarray(start, Math.max(end - 1, start)), CLOSE_LIST];
  }

  #rangeOf({ blockHash, fromBlock, toBlock }: Filter): [number, number] {
    if (blockHash !== undefined) {
      const number = this.#numberOf(blockHash);
      if (number === undefined || number > this.#head) throw new RpcError(-32000, "unknown block");
      return [number, number];
    }
    const [from, to] = [this.#numberAt(fromBlock), this.#numberAt(toBlock)];
    if (from > to) throw new RpcError(-32000, "invalid block range params");
    return [from, to];
  }

  #filtered(filter: Filter): FilteredLogs {
    const key = JSON.stringify([filter.address, filter.topics]);
    let logs = this.#filters.get(key);
    if (logs === undefined) {
      logs = filterLogs(this.#chain.blocks, matcherOf(filter));
      const [oldest] = this.#filters.keys();
      if (this.#filters.size >= FILTERS_KEPT && oldest !== undefined) this.#filters.delete(oldest);
      this.#filters.set(key, logs);
    }
    return logs;
  }

  #transaction(hash: Hex): Buffer[] {
    this.#ofTransaction ??= new Map(
      this.#chain.blocks.flatMap((block) =>
        block.transactions.map((transaction, index) => [transaction.hash, { block, index }]),
      ),
    );
    const found = this.#ofTransaction.get(hash);
    if (found === undefined || found.block.number > this.#head) return [NULL];
    return json(found.block.transactions[found.index]);
  }

  #hasCode(address: string): boolean {
    const asked = address.toLowerCase();
    if (this.#tokens.has(asked) || this.#chain.exchange?.toLowerCase() === asked) return true;
    return this.#chain.blocks.some(({ logs }) =>
      logs.some(({ address }) => address.toLowerCase() === asked),
    );
  }

  #call({
    to = "",
    data,
    input = data ?? "",
  }: {
    to?: string;
    data?: string;
    input?: string;
  }): Hex {
    const token = this.#tokens.get(to.toLowerCase());
    const asked = SELECTORS[input.slice(0, 10)];
    if (token === undefined) return "0x";
    const value = asked === undefined ? null : token[asked];
    if (value === null) throw new RpcError(3, "execution reverted", "0x");
    if (typeof value === "number") return `0x${word(value)}`;
    return token.isBytes32 === true ? stringToHex(value, { size: 32 }) : encodedString(value);
  }
}

const NO_PARENT: Hex = `0x${"0".repeat(64)}`;

const json = (value: unknown): Buffer[] => [Buffer.from(JSON.stringify(value ?? null))];
const word = (n: number): string => n.toString(16).padStart(64, "0");

function encodedString(text: string): Hex {
  const bytes = Buffer.from(text).toString("hex");
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, "0");
  return `0x${word(32)}${word(bytes.length / 2)}${padded}`;
}

type Matcher = (log: { address: string; topics: readonly string[] }) => boolean;

/** A filter's addresses and topics; what is null or missing matches everything. */
function matcherOf({ address, topics }: Filter): Matcher {
  const setOf = (values: string | string[]): Set<string> =>
    new Set([values].flat().map((value) => value.toLowerCase()));
  const addresses = address === undefined || address === null ? undefined : setOf(address);
  const positions = (topics ?? []).map((topic) => (topic === null ? undefined : setOf(topic)));
  return (log) => {
    if (addresses !== undefined && addresses.size > 0 && !addresses.has(log.address)) return false;
    return positions.every((accepted, n) => {
      const topic = log.topics[n];
      if (accepted === undefined || accepted.size === 0) return topic !== undefined;
      return topic !== undefined && accepted.has(topic);
    });
  };
}

/** The JSON of all logs that match, a comma behind each; those of block n begin at the n-th start. */
interface FilteredLogs {
  bytes: Buffer;
  starts: number[];
}

function filterLogs(blocks: readonly RecordedBlock[], matches: Matcher): FilteredLogs {
  const parts: Buffer[] = [];
  const starts: number[] = [];
  let length = 0;
  for (const { logs, bounds, logBytes } of blocks) {
    starts.push(length);
    for (const [n, { start, end }] of bounds.entries()) {
      const log = logs[n];
      if (log === undefined || !matches(log)) continue;
      parts.push(logBytes.subarray(start, end), COMMA);
      length += end - start + 1;
    }
  }
  starts.push(length);
  return { bytes: Buffer.concat(parts, length), starts };
}
