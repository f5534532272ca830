// Starts the recorded node as a process, and asks it what only it has.
import type { Decoder } from "../../chain/exchange-facts.ts";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { PROGRAMS, startServer } from "../servers/start.ts";

export interface GivenChain {
  events: number;
  blocks: number;
  /** The events are swaps of so many pools; of a MatchingMarket where it is 0. */
  pools?: number;
  /** The newest block that is served; beyond the last generated one the blocks are empty. */
  head?: number;
  /** In seconds since 1970. */
  firstTimestamp?: number;
  secondsApart?: number;
}

export interface NodeProcess {
  url: string;
  exchange: string;
  decoder: Decoder;
  pools: number;
  firstBlock: number;
  /** The last generated block. */
  lastBlock: number;
  counts: { makes: number; takes: number; kills: number; logs: number };
  ask<T>(method: string, ...params: unknown[]): Promise<T>;
  setHead(number: number): Promise<void>;
  stop(): Promise<void>;
}

type Described = Pick<NodeProcess, "exchange" | "counts"> & {
  first: number;
  last: number;
};

export async function startNodeProcess(chain: GivenChain): Promise<NodeProcess> {
  const { events, blocks, pools = 0, head, firstTimestamp, secondsApart } = chain;
  const server = await startServer(PROGRAMS.recordedNode, {
    ...{ EVENTS: String(events), BLOCKS: String(blocks), POOLS: String(pools) },
    ...(head !== undefined && { HEAD: String(head) }),
    ...(firstTimestamp !== undefined && { FIRST_TIMESTAMP: String(firstTimestamp) }),
    ...(secondsApart !== undefined && { SECONDS_APART: String(secondsApart) }),
  });
  const { url } = server;
  const ask = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const response = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: unknown };
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  const { first, last, ...described } = await ask<Described>("recorded_chain");
  return {
    ...described,
    ...{ pools, decoder: pools > 0 ? uniswapV2 : matchingMarket },
    ...{ url, firstBlock: first, lastBlock: last, ask },
    stop: () => server.stop(),
    async setHead(number) {
      await ask("recorded_setHead", `0x${number.toString(16)}`);
    },
  };
}
