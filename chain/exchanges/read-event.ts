// Decodes a log as one of the events of a kind of exchange.
import { decodeEventLog, type Abi, type Hex } from "viem";
import type { ChainLog } from "../exchange-facts.ts";
import { Halt } from "../halt.ts";

/** Halts where the log has the topic of an event, and not its form. `exchange` is how the message names the kind. */
export function readEvent<const A extends Abi>(log: ChainLog, abi: A, exchange: string) {
  try {
    return decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data });
  } catch (error) {
    throw new Halt(
      `The log ${log.idx} of block ${log.block} is no event of ${exchange}: ${(error as Error).message.split("\n")[0]}`,
    );
  }
}
