// An HTTP JSON-RPC proxy in front of a node, whose faults a test sets.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import {
  answerUnder,
  type CallFault,
  type DrawnFault,
  type Reply,
  type RpcCall,
  type Upstream,
} from "./call-faults.ts";

/** Faults of the transport, which meet a whole request. */
export type TransportFault =
  /** Answers after so many milliseconds. */
  | { name: "late"; ms: number }
  /** Takes the request, and never answers. */
  | { name: "no answer" }
  /** Closes the connection without an answer. */
  | { name: "closed connection" }
  /** A status without a JSON-RPC answer; 429 and 503 with Retry-After if it is given. */
  | { name: "status"; status: number; retryAfter?: number | string; body?: string }
  /** Closes the connection when half of the announced body is sent. */
  | { name: "half body" }
  /** A whole answer with half of the JSON. */
  | { name: "wrong JSON" }
  /** 200 with a page in HTML. */
  | { name: "HTML" }
  /** The answers of a batch in the reverse order, which the specification allows. */
  | { name: "reversed batch" }
  /** A batch without its last answer. */
  | { name: "short batch" };

export type Fault = (TransportFault | CallFault) & {
  /** How often it applies, from the first request that it meets; always if not given. */
  times?: number;
  /** The chance that it applies where it could; 1 if not given. */
  probability?: number;
  /** It applies to each n-th request that it could meet: 2 answers as two nodes in turn. */
  every?: number;
  /** Only requests of these methods; all if not given. */
  methods?: readonly string[];
};

export type FaultName = Fault["name"];

/** A fault that was set. */
export interface Lie {
  readonly fault: Fault;
  /** How often it applied. */
  readonly count: number;
  stop(): void;
}

export interface LyingNode {
  url: string;
  /** Adds a fault. Of several, the one set first sees the request first and the answer last. */
  lie(fault: Fault): Lie;
  /** Ends all faults. */
  tellTheTruth(): void;
  /** How often each fault applied, since the start. */
  faults: ReadonlyMap<FaultName, number>;
  /** How often each method was called, since the start; each call of a batch counts. */
  calls: ReadonlyMap<string, number>;
  /** How many HTTP requests came, since the start. */
  requests(): number;
  /** Puts another node behind it. */
  use(target: string): void;
  stop(): Promise<void>;
}

const TRANSPORT = new Set<FaultName>([
  ...(["late", "no answer", "closed connection", "status", "half body"] as const),
  ...(["wrong JSON", "HTML", "reversed batch", "short batch"] as const),
]);

const isTransport = (fault: Fault): fault is Fault & TransportFault => TRANSPORT.has(fault.name);
const isOfCall = (fault: Fault): fault is Fault & CallFault => !TRANSPORT.has(fault.name);

class SetFault implements Lie {
  readonly fault: Fault;
  count = 0;
  #met = 0;
  #stopped = false;
  readonly #random: () => number;

  constructor(fault: Fault, random: () => number) {
    this.fault = fault;
    this.#random = random;
  }

  /** Whether it may apply to a request with these methods. */
  meets(methods: readonly string[]): boolean {
    const { methods: only } = this.fault;
    return only === undefined || methods.some((method) => only.includes(method));
  }

  /** Whether it applies to what it meets now; counts it. */
  takes(): boolean {
    const { times = Infinity, probability = 1, every = 1 } = this.fault;
    if (this.#stopped || this.count >= times) return false;
    this.#met++;
    if (this.#met % every !== 0 || this.#random() >= probability) return false;
    this.count++;
    return true;
  }

  stop(): void {
    this.#stopped = true;
  }
}

/** Chances are the same in each run with the same seed and requests. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Starts on a free port, in front of the node at `target`. */
export async function startLyingNode(
  target: string,
  { seed = 1 }: { seed?: number } = {},
): Promise<LyingNode> {
  const random = seededRandom(seed);
  const faults = new Map<FaultName, number>();
  const calls = new Map<string, number>();
  let lies: SetFault[] = [];
  let requests = 0;
  let node = target;

  const takes = (lie: SetFault): boolean => {
    if (!lie.takes()) return false;
    faults.set(lie.fault.name, (faults.get(lie.fault.name) ?? 0) + 1);
    return true;
  };

  const upstream: Upstream = async (method, params, at = node) => {
    const response = await fetch(at, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as Reply;
    return error === undefined ? { result: result ?? null } : { error };
  };

  const answer = (call: RpcCall): Promise<Reply> => {
    const drawn = lies.flatMap((lie): DrawnFault[] =>
      isOfCall(lie.fault) && lie.meets([call.method])
        ? [{ fault: lie.fault, takes: () => takes(lie) }]
        : [],
    );
    return answerUnder(drawn, call, upstream);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests++;
    const body = JSON.parse(await text(request)) as RpcCall | RpcCall[];
    const asked = Array.isArray(body) ? body : [body];
    const methods = asked.map(({ method }) => method);
    for (const method of methods) calls.set(method, (calls.get(method) ?? 0) + 1);

    const transport: TransportFault[] = [];
    for (const lie of lies) {
      const { fault } = lie;
      if (!isTransport(fault) || !lie.meets(methods)) continue;
      if (fault.name.endsWith("batch") && !Array.isArray(body)) continue;
      if (takes(lie)) transport.push(fault);
    }
    for (const fault of transport) if (fault.name === "late") await sleep(fault.ms);
    if (refuse(transport, response)) return;

    const replies = await Promise.all(asked.map(answer));
    const answers = replies.map(({ result, error }, n) => ({
      jsonrpc: "2.0",
      id: asked[n]?.id ?? null,
      ...(error === undefined ? { result } : { error }),
    }));
    if (transport.some(({ name }) => name === "reversed batch")) answers.reverse();
    if (transport.some(({ name }) => name === "short batch")) answers.pop();
    const [only] = replies;
    if (!Array.isArray(body) && only?.error) response.statusCode = only.status ?? 200;
    send(transport, response, JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // The node behind is gone: so is this one, for who asks.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    lie(fault) {
      const lie = new SetFault(fault, random);
      lies.push(lie);
      return lie;
    },
    tellTheTruth() {
      for (const lie of lies) lie.stop();
      lies = [];
    },
    faults,
    calls,
    requests: () => requests,
    use(other) {
      node = other;
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Whether the request is not answered, or not by JSON-RPC. */
function refuse(faults: readonly TransportFault[], response: ServerResponse): boolean {
  for (const fault of faults) {
    switch (fault.name) {
      case "no answer":
        return true;
      case "closed connection":
        response.destroy();
        return true;
      case "HTML":
        response.setHeader("content-type", "text/html");
        response.end("<!DOCTYPE html><title>Welcome</title><h1>It works</h1>");
        return true;
      case "status":
        response.statusCode = fault.status;
        if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
        response.end(fault.body ?? "");
        return true;
    }
  }
  return false;
}

function send(faults: readonly TransportFault[], response: ServerResponse, json: string): void {
  const half = json.slice(0, Math.floor(json.length / 2));
  response.setHeader("content-type", "application/json");
  if (faults.some(({ name }) => name === "half body")) {
    response.setHeader("content-length", Buffer.byteLength(json));
    response.write(half, () => response.destroy());
    return;
  }
  response.end(faults.some(({ name }) => name === "wrong JSON") ? half : json);
}
