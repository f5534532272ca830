// The headers of a chain's blocks, as its nodes return them.
import { numberToHex } from "viem";
import { readHeader, type Header } from "./node-answers.ts";
import { Refused, type Requests } from "./requests.ts";
import { NoBlock } from "./until-sure.ts";

export class Headers {
  readonly #requests: Requests;
  /** Whether the chain has ever named a final block. */
  namesFinalized = false;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The last block that the node knows. */
  async latest(): Promise<Header> {
    return existing(await this.#header("latest"), "latest");
  }

  /** The last block that the chain takes for final; undefined where the node names none. */
  async finalized(): Promise<Header | undefined> {
    try {
      const header = await this.#header("finalized");
      this.namesFinalized ||= header !== undefined;
      return header;
    } catch (error) {
      if (error instanceof Refused) return undefined;
      throw error;
    }
  }

  /** A block of the node's chain by its number; undefined where the node does not have it. */
  headerAt(number: number): Promise<Header | undefined> {
    return this.#header(numberToHex(number));
  }

  #header(block: string): Promise<Header | undefined> {
    return this.#requests.ask("eth_getBlockByNumber", [block, false], (result) => {
      const header = block === "finalized" ? readFinalized(result) : readHeader(result);
      // Every node has one, so that another is asked.
      if (header === undefined && block === "latest") {
        throw new Error("it does not have block latest");
      }
      if (header !== undefined && block.startsWith("0x") && header.number !== Number(block)) {
        throw new Error(`block ${Number(block)} was asked for, and block ${header.number} came`);
      }
      return header;
    });
  }
}

/** Whoever reads the log cannot mend the node. */
function readFinalized(result: unknown): Header | undefined {
  try {
    return readHeader(result);
  } catch (error) {
    throw new Error(
      `the block "finalized" cannot be read (${(error as Error).message}); --finality (FINALITY) does without it`,
      { cause: error },
    );
  }
}

export function existing(header: Header | undefined, block: number | string): Header {
  if (header === undefined) throw new NoBlock(`the node does not have block ${block}`);
  return header;
}
