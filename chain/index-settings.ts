// The settings of the indexer, from environment variables or the command line, checked.
import { getAddress, isAddress } from "viem";
import { z } from "zod";
import { integerText } from "../db/integer-text.ts";
import type { Contract } from "./contracts.ts";
import { EXCHANGE_KINDS, kindNames, kindsWithFee } from "./exchanges/kinds.ts";
import { LARGEST_BLOCK, type Decoder } from "./exchange-facts.ts";

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
    .transform(readContracts)
    .refine((contracts) => contracts !== undefined)
    .optional()
    .describe(
      `the address of the exchange's contract, 0x and 40 hex digits with a right checksum or in lower case, perhaps after its kind and a colon (${kindNames()}), before @ and its first block, and before the fee of its pools as /0.25%, of ${kindsWithFee()}; or several, separated by commas, each address once`,
    ),
  FROM_BLOCK: integerText(0, LARGEST_BLOCK)
    .optional()
    .describe("the block to begin with, an integer from 0: the one in which the contract was made"),
  FINALITY: integerText(0, 1_000_000)
    .optional()
    .describe("an integer of blocks that the chain may take back, from 0 to 1000000"),
  TAKER: z.enum(["event", "sender"]).optional().describe("`event` or `sender`"),
  PAIRS: z.string().optional().describe("the path of a CSV file as pairs.csv"),
  TOKEN_LIST: z
    .string()
    .optional()
    .describe(
      "the path of a JSON file by the Token Lists standard, or of a CSV file as tokens.csv",
    ),
  QUOTES: z
    .string()
    .transform((text) => text.split(",").map((quote) => quote.trim()))
    .refine((quotes) => quotes.every((quote) => quote !== ""))
    .optional()
    .describe("symbols or addresses of tokens of TOKEN_LIST, separated by commas"),
  RPC_RATE: integerText(1, 100_000)
    .default(50)
    .describe("an integer of requests a second from 1 to 100000"),
  RPC_TIMEOUT_MS: integerText(100, 3_600_000)
    .default(20_000)
    .describe("an integer of milliseconds from 100 to 3600000"),
};

export interface IndexSettings {
  rpcUrls: string[];
  exchange: string;
  decoder: Decoder;
  others: Contract[];
  fromBlock: number;
  finality: number | undefined;
  taker: "event" | "sender";
  pairsFile: string | undefined;
  tokenListFile: string | undefined;
  quotes: string[];
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
    const variable = String(name) as keyof typeof indexVariables;
    // A URL may hold a key.
    const shown = variable === "RPC_URL" ? "what was given" : JSON.stringify(given[variable]);
    return `${nameOf(variable)}: ${shown} is not ${indexVariables[variable].description ?? ""}.`;
  });
  const { RPC_URL, EXCHANGE: [first, ...rest] = [] } = data ?? {};
  const fromBlock = first?.firstBlock ?? data?.FROM_BLOCK;
  for (const variable of ["RPC_URL", "EXCHANGE", "FROM_BLOCK"] as const) {
    if (given[variable] !== undefined || (variable === "FROM_BLOCK" && fromBlock !== undefined)) {
      continue;
    }
    problems.push(`${nameOf(variable)} is missing: ${indexVariables[variable].description ?? ""}.`);
  }
  if (data?.QUOTES !== undefined && data.TOKEN_LIST === undefined) {
    const { description = "" } = indexVariables.TOKEN_LIST;
    problems.push(`${nameOf("QUOTES")} needs ${nameOf("TOKEN_LIST")}: ${description}.`);
  }
  const others = rest.map((one) => ({
    ...one,
    firstBlock: one.firstBlock ?? data?.FROM_BLOCK ?? fromBlock ?? 0,
  }));
  for (const { exchange, firstBlock } of others) {
    if (firstBlock >= (fromBlock ?? 0)) continue;
    const problem = `begins with block ${firstBlock}, before the first contract, which begins with ${fromBlock}`;
    problems.push(`${nameOf("EXCHANGE")}: ${exchange} ${problem}.`);
  }
  if (problems.length > 0 || !data || !RPC_URL || !first || fromBlock === undefined) {
    return { problems: [...new Set(problems)] };
  }
  return {
    rpcUrls: RPC_URL,
    ...{ exchange: first.exchange, decoder: first.decoder, others, fromBlock },
    finality: data.FINALITY,
    taker: data.TAKER ?? takerOf([first, ...others].map(({ decoder }) => decoder)),
    pairsFile: data.PAIRS,
    tokenListFile: data.TOKEN_LIST,
    quotes: data.QUOTES ?? [],
    requestsPerSecond: data.RPC_RATE,
    requestTimeoutMs: data.RPC_TIMEOUT_MS,
  };
}

/** One way for all rows of a database. */
const takerOf = (decoders: readonly Decoder[]): "event" | "sender" =>
  decoders.some(({ takerIs }) => takerIs === "sender") ? "sender" : "event";

const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "");

/** `[kind:]0x…[@block][/fee%]` for each contract; undefined for anything else, or where one is there twice. */
function readContracts(text: string) {
  const contracts = text.split(",").map((one) => readContract(one.trim()));
  const known = contracts.filter((one) => one !== undefined);
  const isOnce = new Set(known.map(({ exchange }) => exchange)).size === contracts.length;
  return isOnce ? known : undefined;
}

/** No number has a leading zero. */
const CONTRACT =
  /^(?:([^:@/]*):)?([^:@/]*)(?:@(0|[1-9]\d{0,9}))?(?:\/((?:0|[1-9]\d?)(?:\.\d{1,4})?)%)?$/;

/** Without a kind, it is of the first one. */
function readContract(text: string) {
  const [, name = EXCHANGE_KINDS[0]?.kind, address = "", block, fee] = CONTRACT.exec(text) ?? [];
  const kind = EXCHANGE_KINDS.find((one) => one.kind === name);
  const decoder = fee === undefined ? kind : kind?.withFee?.(millionthsOf(fee));
  const firstBlock = block === undefined ? undefined : Number(block);
  if (decoder === undefined || !isAddress(address)) return undefined;
  if (firstBlock !== undefined && firstBlock > LARGEST_BLOCK) return undefined;
  return { decoder, exchange: getAddress(address), firstBlock };
}

/** Of a percentage with at most four decimals. */
function millionthsOf(percent: string): number {
  const [whole = "", decimals = ""] = percent.split(".");
  return Number(whole + decimals.padEnd(4, "0"));
}
