// The settings of the indexer, from environment variables or the command line, checked.
import { getAddress, isAddress } from "viem";
import { z } from "zod";

const LARGEST_BLOCK = 2 ** 31 - 1;

const integer = (least: number, most: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(least).max(most));

/** Each by the name of its variable; the option is the same in lower case, `--rpc-url`. */
export const indexVariables = {
  RPC_URL: z
    .string()
    .transform((text) => text.split(",").map((url) => url.trim()))
    .refine((urls) => urls.every(isHttpUrl))
    .optional()
    .describe("URLs of nodes of one chain, http or https, separated by commas"),
  EXCHANGE: z
    .string()
    .refine((text) => isAddress(text))
    .transform((text) => getAddress(text))
    .optional()
    .describe(
      "the address of the exchange's contract: 0x and 40 hex digits, with a right checksum or in lower case",
    ),
  FROM_BLOCK: integer(0, LARGEST_BLOCK)
    .optional()
    .describe("the block to begin with, an integer from 0: the one in which the contract was made"),
  FINALITY: integer(0, 1_000_000)
    .optional()
    .describe("an integer of blocks that the chain may take back, from 0 to 1000000"),
  TAKER: z.enum(["event", "sender"]).default("event").describe("`event` or `sender`"),
  PAIRS: z.string().optional().describe("the path of a CSV file as pairs.csv"),
  RPC_RATE: integer(1, 100_000)
    .default(50)
    .describe("an integer of requests a second from 1 to 100000"),
  RPC_TIMEOUT_MS: integer(100, 3_600_000)
    .default(20_000)
    .describe("an integer of milliseconds from 100 to 3600000"),
};

export type IndexVariable = keyof typeof indexVariables;

export interface IndexSettings {
  rpcUrls: string[];
  exchange: string;
  fromBlock: number;
  finality: number | undefined;
  taker: "event" | "sender";
  pairsFile: string | undefined;
  requestsPerSecond: number;
  requestTimeoutMs: number;
}

/** The option of a variable: RPC_URL is `rpc`, FROM_BLOCK `from-block`. */
export const optionOf = (name: string): string =>
  name === "RPC_URL" ? "rpc" : name.toLowerCase().replaceAll("_", "-");

/** The settings, or a line for each that is wrong or missing. `nameOf` names a variable for the user. */
export function readIndexSettings(
  given: Partial<Record<string, string>>,
  nameOf: (variable: string) => string = (variable) => variable,
): IndexSettings | { problems: string[] } {
  const { data, error } = z.object(indexVariables).safeParse(given);
  const problems = (error?.issues ?? []).map(({ path: [name] }) => {
    const variable = String(name) as IndexVariable;
    // A URL may hold a key.
    const shown = variable === "RPC_URL" ? "what was given" : JSON.stringify(given[variable]);
    return `${nameOf(variable)}: ${shown} is not ${indexVariables[variable].description ?? ""}.`;
  });
  for (const variable of ["RPC_URL", "EXCHANGE", "FROM_BLOCK"] as const) {
    if (given[variable] === undefined) {
      problems.push(
        `${nameOf(variable)} is missing: ${indexVariables[variable].description ?? ""}.`,
      );
    }
  }
  const { RPC_URL, EXCHANGE, FROM_BLOCK } = data ?? {};
  if (problems.length > 0 || !data || !RPC_URL || !EXCHANGE || FROM_BLOCK === undefined) {
    return { problems: [...new Set(problems)] };
  }
  return {
    rpcUrls: RPC_URL,
    exchange: EXCHANGE,
    fromBlock: FROM_BLOCK,
    finality: data.FINALITY,
    taker: data.TAKER,
    pairsFile: data.PAIRS,
    requestsPerSecond: data.RPC_RATE,
    requestTimeoutMs: data.RPC_TIMEOUT_MS,
  };
}

const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "");
