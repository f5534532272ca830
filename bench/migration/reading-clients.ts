// Clients that read both interfaces continuously.
import { setTimeout } from "node:timers/promises";
import { askOnce } from "../load/client.ts";
import type { BenchRequest } from "../load/wire-request.ts";

export interface Reading {
  /** Milliseconds of each answer, by interface. */
  rest: number[];
  graphql: number[];
  /** Failed requests: a status other than 200, GraphQL errors, a lost connection. */
  errors: string[];
}

/** Pause of a client after each answer, so that the clients do not saturate the machine. */
const PAUSE_MS = 25;

const nothing = (): Reading => ({ rest: [], graphql: [], errors: [] });

export function startReaders(url: string, requests: BenchRequest[]) {
  let reading = nothing();
  let isStopping = false;
  const read = async (request: BenchRequest): Promise<void> => {
    while (!isStopping) {
      const began = performance.now();
      const error = await complaintOf(url, request);
      const latencies = request.method === "POST" ? reading.graphql : reading.rest;
      latencies.push(performance.now() - began);
      if (error !== undefined) reading.errors.push(`${request.path}: ${error}`);
      await setTimeout(PAUSE_MS);
    }
  };
  const clients = requests.map(read);
  return {
    /** The results since the last call. */
    take(): Reading {
      const taken = reading;
      reading = nothing();
      return taken;
    },
    async stop(): Promise<void> {
      isStopping = true;
      await Promise.all(clients);
    },
  };
}

/** Sends a request; resolves to a description of the failure, or undefined. */
async function complaintOf(url: string, request: BenchRequest): Promise<string | undefined> {
  try {
    const { status, body } = await askOnce(url, request);
    const isRight = status === 200 && !body.includes('"errors":');
    return isRight ? undefined : `${status} ${body.slice(0, 300)}`;
  } catch (error) {
    return (error as Error).message;
  }
}
