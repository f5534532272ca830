// What tokens answer, as nodes send it: the errors of calls that the token itself has failed, or the node.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { encodeAbiParameters, numberToHex, padHex, toFunctionSelector } from "viem";
import { readTokens } from "../../chain/ask-tokens.ts";
import { Requests } from "../../chain/requests.ts";

interface Call {
  id: number;
  method: string;
  params: [{ to: string; data: string }, unknown];
}

/** A result, or an error. */
type Answer = { result: string } | { error: { code: number; message: string; data?: unknown } };

const BLOCK = { number: 7, hash: padHex("0xb1", { size: 32 }) };
const DECIMALS = toFunctionSelector("function decimals()");
const right = ({ params: [{ data }] }: Call): Answer => ({
  result:
    data === DECIMALS
      ? numberToHex(18, { size: 32 })
      : encodeAbiParameters([{ type: "string" }], ["ABC"]),
});

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** `answer` gets the place of the call in its batch. `sizes` are those of the batches. */
async function nodeOf(
  answer: (call: Call, place: number) => Answer,
): Promise<{ requests: Requests; sizes: number[] }> {
  const sizes: number[] = [];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const calls = [JSON.parse(body) as Call | Call[]].flat();
      sizes.push(calls.length);
      const answers = calls.map((call, place) => {
        const { id, method } = call;
        const own: Answer = method === "eth_chainId" ? { result: "0x1" } : answer(call, place);
        return { jsonrpc: "2.0", id, ...own };
      });
      response.end(JSON.stringify(answers));
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server?.once("listening", resolve));
  const requests = new Requests({
    urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
    ...{ perSecond: 10_000, backoffMs: 1, signal: new AbortController().signal },
  });
  return { requests, sizes };
}

const ONE = numberToHex(1, { size: 20 });

describe("a call of decimals() that fails", () => {
  const readWith = async (error: { code: number; message: string; data?: unknown }) => {
    const answer = (call: Call): Answer =>
      call.params[0].data === DECIMALS ? { error } : right(call);
    const { requests } = await nodeOf(answer);
    return (await readTokens(requests, [ONE], BLOCK)).get(ONE)?.decimals;
  };

  it.each([
    // go-ethereum, Erigon
    [3, "execution reverted"],
    [3, "execution reverted: no decimals"],
    [-32000, "execution reverted"],
    [-32000, "out of gas"],
    [-32000, "invalid opcode: INVALID"],
    [-32000, "invalid opcode: opcode 0xfe not defined"],
    [-32000, "stack underflow (0 <=> 1)"],
    [-32000, "stack limit reached 1024 (1023)"],
    [-32000, "invalid jump destination"],
    [-32000, "return data out of bounds"],
    [-32000, "gas uint64 overflow"],
    // Besu
    [-32000, "Execution reverted"],
    [3, "Execution reverted (no decimals)"],
    [-32000, "Transaction processing could not be completed due to an exception"],
    // Reth
    [-32003, "out of gas: gas required exceeds: 1000000"],
    [-32003, "out of gas: gas exhausted during memory expansion: 1000000"],
    [-32003, "out of gas: gas exhausted during precompiled contract execution: 1000000"],
    [-32003, "out of gas: invalid operand to an opcode: 1000000"],
    [-32000, "EVM error: InvalidFEOpcode"],
    [-32000, "EVM error: StackUnderflow"],
    // Anvil
    [3, "execution reverted: custom error 0x82b42900"],
    [-32003, "Out of gas: gas required exceeds allowance: 1000000"],
    [-32603, "EVM error OpcodeNotFound"],
    [-32603, "EVM error OutOfGas(Basic)"],
    // Hardhat, Ganache
    [
      -32603,
      "Error: VM Exception while processing transaction: reverted with reason string 'no decimals'",
    ],
    [-32603, "VM Exception while processing transaction: revert"],
    [-32603, "VM Exception while processing transaction: invalid opcode"],
    [-32603, "Error: Transaction reverted without a reason string"],
    [-32603, "Error: Transaction reverted: function selector was not recognized"],
    [-32603, "Error: Transaction ran out of gas"],
    // Nethermind
    [-32000, "revert"],
    [-32000, "Reverted 0x08c379a0"],
    [-32000, "invalid instruction"],
    [-32000, "stack underflow"],
    [3, "no words of a known node"],
    // What a contract gives as its reason means nothing.
    [3, "execution reverted: too many requests"],
    [3, "execution reverted: response too large"],
  ])("is the token's failure by %d %s", async (code, message) => {
    expect(await readWith({ code, message })).toBeUndefined();
  });

  it.each(["Reverted 0x08c379a0", "OutOfGas", "Bad instruction fe", "BadInstruction"])(
    "is the token's failure by the data of a VM execution error, %s",
    async (data) => {
      const error = { code: -32015, message: "VM execution error.", data };
      expect(await readWith(error)).toBeUndefined();
    },
  );

  it.each([
    [-32603, "Unhandled exception in backend: database timeout"],
    [-32000, "upstream connect error: socket exception"],
    [-32000, "out of gas credits for this key"],
    [-32000, "missing revert data: header not found"],
    [-32005, "request exceeds allowance of your plan"],
    [-32000, "header not found"],
    [-32000, "execution aborted (timeout = 5s)"],
    [-32603, "Internal error"],
    [-32603, "EVM error: Database(Timeout)"],
    [-32603, "Error: VM Exception while processing transaction: database closed"],
    [-32015, "VM execution error."],
  ])("is the node's failure by %d %s, and no answer", async (code, message) => {
    await expect(readWith({ code, message })).rejects.toMatchObject({ name: "Unavailable" });
  });
});

describe("tokens that return long texts", () => {
  const long = `0x${"41".repeat(700_000)}`;
  const addresses = Array.from({ length: 24 }, (_, n) => numberToHex(n + 1, { size: 20 }));
  const isLong = ({ params: [{ to }] }: Call): boolean => to !== ONE;

  it("have none of them, and no more are asked for at once than fit into an answer", async () => {
    const { requests, sizes } = await nodeOf((call) =>
      isLong(call) ? { result: long } : right(call),
    );
    const tokens = await readTokens(requests, addresses, BLOCK);
    expect(tokens.get(ONE)).toEqual({ symbol: "ABC", name: "ABC", decimals: 18 });
    expect(new Set([...tokens.values()].slice(1).map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ symbol: null, name: null })]),
    );
    // Nothing was refused, so that what follows is still asked together.
    expect(sizes.filter((size) => size > 1)).toEqual(Array(2 * 6).fill(12));
    const asked = sizes.length;
    const short = Array.from({ length: 50 }, () => requests.ask("eth_call", [{ to: ONE }], String));
    await Promise.all(short);
    expect(sizes.slice(asked)).toEqual([50]);
  });

  it.each([
    // go-ethereum, Erigon
    [-32003, "response too large"],
    // jsonrpsee, as in Reth
    [-32008, "Response is too big"],
    [-32011, "The batch response was too large"],
    // Nethermind
    [-32005, "MaxBatchResponseBodySize of 32768KB exceeded"],
    // Providers
    [-32000, "response size exceeded"],
    [-32602, "Response size is larger than 150MB limit."],
    [-32020, "backend response too large"],
  ])("are asked one by one where a batch has no room for them: %d %s", async (code, message) => {
    const { requests, sizes } = await nodeOf((call, n) =>
      n > 4 || isLong(call) ? { error: { code, message } } : right(call),
    );
    const tokens = await readTokens(requests, addresses.slice(0, 4), BLOCK);
    expect(tokens.get(ONE)).toEqual({ symbol: "ABC", name: "ABC", decimals: 18 });
    expect([...tokens.values()].slice(1).map(({ decimals }) => decimals)).toEqual(
      Array(3).fill(undefined),
    );
    expect(sizes).toContain(1);
  });
});
