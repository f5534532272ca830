// The market data of an exchange as tools of the Model Context Protocol, over the REST endpoints: an assistant asks them
// for markets, prices, candles, the book and trades. It speaks by standard input and output.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const SERVICE = (process.argv[2] ?? process.env["DEX_URL"] ?? "http://localhost:3000").replace(
  /\/+$/,
  "",
);
/** Where the operator has given one. */
const KEY = process.env["DEX_API_KEY"];

/** A service that does not answer must not hold up the assistant. */
const ANSWER_MS = 30_000;

const server = new McpServer(
  { name: "dex-market-data", version: "1.0.0" },
  {
    instructions:
      "Market data of a decentralized exchange. Every decimal number is a string with up to 18 fractional digits: quote " +
      "it as it is, and compute with decimals, never with floats. `time` is the moment that the data describe, the head " +
      "of the exchange or the past block that was asked for. List the markets before you name a pair.",
  },
);

const pair = z
  .string()
  // A dot or two would be another path of the service.
  .regex(/^(?!\.{1,2}\/)[^/]+\/(?!\.{1,2}$)[^/]+$/)
  .describe("BASE/QUOTE as `markets` lists it, such as WETH/DAI, in any letter case.");

const asOf = {
  block: z
    .int()
    .min(0)
    .optional()
    .describe("The past block to answer as of; without it, the head."),
  time: z
    .string()
    .optional()
    .describe(
      "Or the last block at or before this time, ISO 8601 in UTC such as 2026-01-31T12:00:00Z.",
    ),
};

const limit = (most: number, what: string) =>
  z.int().min(1).max(most).default(20).describe(`How many ${what}, at most.`);

type Query = Record<string, string | number | undefined>;

/** The service's own text, digit by digit, or what it says was wrong. */
async function ask(path: string, query: Query): Promise<CallToolResult> {
  const url = new URL(SERVICE + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  try {
    const response = await fetch(url, {
      headers: KEY === undefined ? {} : { Authorization: `Bearer ${KEY}` },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const body = await response.text();
    if (response.ok) return { content: [{ type: "text", text: body }] };
    const seconds = response.headers.get("Retry-After");
    const later = seconds === null ? "" : ` Ask again in ${seconds} seconds.`;
    return failed(`${response.status}: ${messageOf(body)}${later}`);
  } catch (error) {
    const { message, cause } = error as Error;
    return failed(
      `${SERVICE} does not answer: ${(cause as Error | undefined)?.message ?? message}`,
    );
  }
}

const failed = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
});

/** A proxy in front may answer something else than JSON. */
function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? body;
  } catch {
    return body;
  }
}

const inPath = (name: string): string => name.split("/").map(encodeURIComponent).join("/");

/** It only reads, and only from the service. */
const annotations = { readOnlyHint: true, openWorldHint: false };

server.registerTool(
  "markets",
  {
    title: "Markets",
    description:
      "The overview of one market, or of each active one: price (volume weighted over 6 hours), last trade, 24 h volume in " +
      "base units, best ask and bid, 24 h low and high.",
    inputSchema: { pair: pair.optional(), ...asOf },
    annotations,
  },
  ({ pair: name, ...query }) =>
    ask(name === undefined ? "/v1/markets/" : `/v1/markets/${inPath(name)}`, query),
);

server.registerTool(
  "prices",
  {
    title: "Prices",
    description:
      "Volume weighted prices over the last 24, 12, 6 and 1 hours and the last price, of one market or of all. A figure " +
      "that does not exist, such as the price of an hour without trades, is 0.",
    inputSchema: { pair: pair.optional(), ...asOf },
    annotations,
  },
  ({ pair: name, ...query }) =>
    ask(name === undefined ? "/v2/prices" : `/v2/prices/${inPath(name)}`, query),
);

server.registerTool(
  "candles",
  {
    title: "Candles",
    description: "Open, high, low, close and volumes of a market by interval, oldest first.",
    inputSchema: {
      pair,
      interval: z.enum(["1m", "5m", "15m", "30m", "1h", "4h", "1d"]).default("1h"),
      from: z.string().optional().describe("They start at this time or later: ISO 8601 in UTC."),
      to: z.string().optional().describe("They start before this time."),
      limit: limit(1000, "candles: the last ones, or with `from` the first"),
      ...asOf,
    },
    annotations,
  },
  ({ pair: name, ...query }) => ask(`/v2/candles/${inPath(name)}`, query),
);

server.registerTool(
  "book",
  {
    title: "Order book",
    description: "Open offers of a market by price level, best first, with what is left of them.",
    inputSchema: { pair, depth: limit(1000, "levels of each side"), ...asOf },
    annotations,
  },
  ({ pair: name, ...query }) => ask(`/v2/book/${inPath(name)}`, query),
);

server.registerTool(
  "trades",
  {
    title: "Trades",
    description:
      "Trades of a market, newest first. For the page before, give a `fromId` one below the last `id`.",
    inputSchema: {
      pair,
      limit: limit(1000, "trades"),
      fromId: z.int().min(1).optional().describe("The newest trade to begin with, by its `id`."),
      ...asOf,
    },
    annotations,
  },
  ({ pair: name, ...query }) => ask(`/v2/trades/${inPath(name)}`, query),
);

await server.connect(new StdioServerTransport());
