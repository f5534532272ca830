// The tools for assistants in examples/mcp/: each gives what the service gives, digit by digit, or its error.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ApiKeys } from "../../http/keys/api-keys.ts";
import { parseKeys } from "../../http/keys/key-file.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { runShell } from "../service.ts";

const FOLDER = fileURLToPath(new URL("../../examples/mcp", import.meta.url));
const KEY = "the-key-of-the-assistant";

const { app } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    const trades = [1, 2, 3].map((hour) => aTrade({ hour, base: "3", quote: "1000" }));
    await write(writer, { trades });
  },
  { keys: new ApiKeys(parseKeys(`assistant ${KEY}`)) },
);

let server: ChildProcessWithoutNullStreams;
const waiting = new Map<number, (answer: Answer) => void>();
let asked = 0;

interface Answer {
  result: {
    serverInfo: { name: string };
    instructions: string;
    tools: { name: string; inputSchema: { properties: object }; annotations: object }[];
    content: { text: string }[];
    isError?: boolean;
  };
}

const send = (message: object): unknown =>
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const request = (method: string, params: object = {}): Promise<Answer["result"]> =>
  new Promise((resolve) => {
    asked += 1;
    waiting.set(asked, ({ result }) => resolve(result));
    send({ id: asked, method, params });
  });

const call = (name: string, given: object = {}) =>
  request("tools/call", { name, arguments: given });

beforeAll(() => {
  server = spawn(process.execPath, [join(FOLDER, "server.ts"), app.url], {
    env: { PATH: process.env["PATH"], DEX_API_KEY: KEY },
  });
  createInterface(server.stdout).on("line", (line) => {
    const answer = JSON.parse(line) as Answer & { id: number };
    waiting.get(answer.id)?.(answer);
  });
});
afterAll(async () => {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.stdin.end();
  server.kill();
  await ended;
});

it("introduces itself, and lists its tools, which only read", async () => {
  const { serverInfo, instructions } = await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  send({ method: "notifications/initialized" });
  expect(serverInfo.name).toBe("dex-market-data");
  expect(instructions).toContain("never with floats");
  const { tools } = await request("tools/list");
  expect(tools.map(({ name }) => name)).toEqual(["markets", "prices", "candles", "book", "trades"]);
  for (const { inputSchema, annotations } of tools) {
    expect(Object.keys(inputSchema.properties)).toEqual(
      expect.arrayContaining(["pair", "block", "time"]),
    );
    expect(annotations).toMatchObject({ readOnlyHint: true });
  }
});

it.each([
  ["markets", {}, "/v1/markets/"],
  ["markets", { pair: "weth/dai" }, "/v1/markets/weth/dai"],
  ["prices", {}, "/v2/prices"],
  ["prices", { pair: "WETH/DAI" }, "/v2/prices/weth/dai"],
  ["candles", { pair: "WETH/DAI", interval: "4h" }, "/v2/candles/weth/dai?interval=4h&limit=20"],
  ["book", { pair: "WETH/DAI", depth: 5 }, "/v2/book/weth/dai?depth=5"],
  ["trades", { pair: "WETH/DAI", limit: 2 }, "/v2/trades/weth/dai?limit=2"],
  ["trades", { pair: "WETH/DAI", fromId: 1 }, "/v2/trades/weth/dai?limit=20&fromId=1"],
])("%s with %j gives the text of %s", async (name, given, path) => {
  const { content, isError } = await call(name, given);
  const { text } = await app.request.get(path);
  expect([isError, content]).toEqual([undefined, [{ type: "text", text }]]);
});

it("asks as the holder of the key", async () => {
  app.over.length = 0;
  await call("prices");
  // A request is over a moment after its answer.
  while (app.over.length === 0) await new Promise(setImmediate);
  expect(app.over.map(({ key }) => key?.name)).toEqual(["assistant"]);
});

it.each([
  [{ pair: "NO/PAIR" }, "400: Unknown pair"],
  [{ pair: "WETH/DAI", block: 1 }, /^400: .*block/],
  [{ pair: "WETHDAI" }, /pair/],
  [{ pair: "../prices" }, /pair/],
  [{ pair: "WETH/.." }, /pair/],
  [{ pair: "WETH/DAI", limit: 0 }, /limit/],
])("gives what is wrong with %j as an error of the tool", async (given, text) => {
  const { content, isError } = await call("trades", given);
  expect(isError).toBe(true);
  expect(content[0]!.text).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
});

it("is checked by the compiler, and has at most 200 lines", async () => {
  const { code, stdout } = await runShell("../../node_modules/.bin/tsc -p .", {}, FOLDER).ended;
  expect([code, stdout]).toEqual([0, ""]);
  expect(readFileSync(join(FOLDER, "server.ts"), "utf8").split("\n").length).toBeLessThanOrEqual(
    201,
  );
});
