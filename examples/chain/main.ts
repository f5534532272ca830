// A chain on this machine with an exchange on it, to try the indexer with: prints how to index it, and trades.
import { readCommandLine, refuse } from "../../db/command-line.ts";
import { playBook } from "./play-book.ts";
import { playV2 } from "./play-v2.ts";
import { playV3 } from "./play-v3.ts";

const EXCHANGES: Readonly<Record<string, (port: number) => Promise<void>>> = {
  "matching-market": playBook,
  "uniswap-v2": playV2,
  "uniswap-v3": playV3,
};
const NAMES = Object.keys(EXCHANGES).join(", ");

const { values, positionals } = readCommandLine({
  usage: `Usage: npm run example:chain [-- [EXCHANGE] [--port N]]

Starts a chain on this machine, by default on port 8545, with an exchange on it, and prints how to index it.
EXCHANGE is one of ${NAMES}; by default the first one.`,
  options: { port: { type: "string", default: "8545" } },
  max: 1,
});
const [name = "matching-market"] = positionals;
if (!Object.hasOwn(EXCHANGES, name)) refuse(`'${name}' is not one of the exchanges: ${NAMES}`);
await EXCHANGES[name]?.(Number(values.port));
