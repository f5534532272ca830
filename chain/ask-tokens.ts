// Asks tokens for symbol, name and decimals. All that a token says is a stranger's text.
import { decodeAbiParameters, toFunctionSelector, type Hex } from "viem";
import { isContractFailure, isOutOfGas } from "./call-failures.ts";
import { named, type StateBlock } from "./contract-state.ts";
import { Refused, Unavailable, type Requests } from "./requests.ts";

/** What a token says of itself. */
export interface TokenFacts {
  /** Null where it has none that can be shown. */
  symbol: string | null;
  name: string | null;
  /** Undefined where it has none: its amounts mean nothing then. */
  decimals: number | undefined;
}

const CALLS = ["symbol()", "name()", "decimals()"].map((name) => ({
  name,
  data: toFunctionSelector(`function ${name}`),
}));

/** The lengths that the schema takes. */
const LONGEST_SYMBOL = 100;
const LONGEST_NAME = 1000;

/** A longer answer, in hexadecimal digits, has none that can be shown: such tokens would fill the memory. */
const LONGEST_ANSWER = 2 * 8192;

/**
 * Calls at once. A contract may return 700 kB to each, 1.4 MB of JSON: these fit into the 25 MB that go-ethereum takes for a
 * batch, and into what is read of an answer.
 */
const AT_ONCE = 12;

/** A node that has no more room in its answer: go-ethereum, jsonrpsee, providers; Nethermind; and what is not read here. */
const TOO_LARGE =
  /response( size)?( is| was)? (too (large|big)|larger|exceeded)|ResponseBodySize|answer is too large/i;

/** More gas than any honest token needs. */
const GAS = "0xf4240";

/** The code of a revert, whatever the text. */
const REVERTED = 3;

/** How often a call is made for two equal answers, one after the other. */
const ROUNDS = 4;

/**
 * Asks tokens in a block of which the nodes have the state. Throws `Unavailable` where they have not. A wrong answer
 * would make every row of the token wrong, so that one is believed when it came twice on end, the second time from another
 * node where there is one. That a token fails, so that its rows are left out, is believed when its first two answers say so.
 */
export async function readTokens(
  requests: Requests,
  addresses: readonly string[],
  block: StateBlock,
): Promise<Map<string, TokenFacts>> {
  const calls = addresses.flatMap((to) =>
    CALLS.map(({ name, data }): TokenCall => {
      return { name, request: { to, data, gas: GAS }, answers: [] };
    }),
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round > 0) requests.askElsewhere();
    const open = calls.filter((one) => !isSettled(one));
    for (let from = 0; from < open.length; from += AT_ONCE) {
      await askOnce(requests, open.slice(from, from + AT_ONCE), block);
    }
  }
  const disputed = calls.find((one) => !isSettled(one));
  if (disputed !== undefined) throw new Unavailable(disputeOf(disputed));
  return new Map(
    addresses.map((address, n) => {
      const own = calls.slice(3 * n, 3 * n + 3);
      const [symbol, name, decimals] = own.map(({ answers }) => answers.at(-1)?.data);
      const facts = {
        symbol: shownText(readText(symbol), LONGEST_SYMBOL),
        name: shownText(readText(name), LONGEST_NAME),
        decimals: readDecimals(decimals),
      };
      return [address, facts];
    }),
  );
}

/** Makes these calls at once, and those again one by one that did not fit into the answer. */
async function askOnce(
  requests: Requests,
  calls: readonly TokenCall[],
  block: StateBlock,
): Promise<void> {
  const answers = await Promise.all(calls.map(({ request }) => call(requests, request, block)));
  for (const [n, { request, answers: had }] of calls.entries()) {
    const answer = answers[n];
    const isLost = answer === undefined || answer.hasNoRoom === true;
    had.push(isLost ? await call(requests, request, block) : answer);
  }
}

/** The answer of a contract that returns nothing. */
const NOTHING: Hex = "0x";

interface TokenAnswer {
  /** Undefined where the token fails. */
  data: Hex | undefined;
  /** That of the node. */
  host: string;
  /** Whether it did not fit into the answer. */
  hasNoRoom?: boolean;
}

/** A call, and what came of it each time. */
interface TokenCall {
  name: string;
  request: { to: string; data: string; gas: string };
  answers: TokenAnswer[];
}

/** Whether its last two answers are one; that the token fails, with the first two answers alone. */
function isSettled({ answers }: TokenCall): boolean {
  const [before, last] = answers.slice(-2).map(({ data }) => data);
  return answers.length > 1 && before === last && (last !== undefined || answers.length === 2);
}

/** Names two answers that differ. */
function disputeOf({ name, request, answers }: TokenCall): string {
  const last = answers.at(-1);
  const other = answers.findLast(({ data }) => data !== last?.data);
  const shown = [other, last].map((answer) => {
    const { data, host } = answer ?? {};
    const text = shownText(readText(data), LONGEST_SYMBOL);
    const value = name === "decimals()" ? readDecimals(data) : (text ?? undefined);
    const failure = data === undefined ? "a failure" : data.slice(0, 2 + 2 * WORD);
    return `${value === undefined ? failure : JSON.stringify(value)} of ${host}`;
  });
  return `token ${request.to} answers ${name} otherwise each time: ${shown.join(", then ")}. Ask a third node which is right, and leave the wrong one out of RPC_URL (--rpc)`;
}

/** What a call returns. */
async function call(
  requests: Requests,
  request: TokenCall["request"],
  block: StateBlock,
): Promise<TokenAnswer> {
  try {
    return await requests.ask("eth_call", [request, named(block)], (result, host) => {
      if (typeof result === "string" && result.length > LONGEST_ANSWER) {
        return { data: NOTHING, host };
      }
      if (typeof result === "string" && /^0x([0-9a-fA-F]{2})*$/.test(result)) {
        return { data: result as Hex, host };
      }
      throw new Error("the answer is not bytes");
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { code, reason, host } = error;
    if (code === REVERTED || isContractFailure(reason) || isOutOfGas(reason)) {
      return { data: undefined, host };
    }
    if (TOO_LARGE.test(reason)) return { data: NOTHING, host, hasNoRoom: true };
    throw new Unavailable(`token ${request.to}: ${error.message}`);
  }
}

const WORD = 32;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a `string`, or of a `bytes32` as early tokens have it. */
function readText(data: Hex | undefined): string | undefined {
  if (data === undefined) return undefined;
  try {
    const bytes = Buffer.from(data.slice(2), "hex");
    if (bytes.length === WORD) return utf8.decode(bytes).replace(/\0+$/, "");
    const [text] = decodeAbiParameters([{ type: "bytes" }], data);
    return utf8.decode(Buffer.from(text.slice(2), "hex"));
  } catch {
    return undefined;
  }
}

/**
 * The text, or null where it could pass for another or not be shown: longer than the schema takes, with spaces
 * around it, control characters, or marks that turn the direction of writing.
 */
export function shownText(text: string | undefined, longest: number): string | null {
  if (text === undefined || text === "" || Array.from(text).length > longest) return null;
  return text.trim() === text && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text) ? text : null;
}

function readDecimals(data: Hex | undefined): number | undefined {
  if (data?.length !== 2 + 2 * WORD) return undefined;
  const decimals = BigInt(data);
  return decimals <= 255n ? Number(decimals) : undefined;
}
