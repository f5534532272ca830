// The options of the small benchmark programs: number of trades and output file.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isPossibleSize } from "./data/make.ts";

/** Reads `--trades` and `--out` from the command line; ends the process if they are invalid. */
export function historyOptions(usualOut: URL): { trades: number; out: string } {
  const { values } = parseArgs({
    options: {
      trades: { type: "string", default: "1000000" },
      out: { type: "string", default: fileURLToPath(usualOut) },
    },
  });
  const trades = Number(values.trades);
  if (isPossibleSize(trades)) return { trades, out: values.out };
  console.error("--trades must be a multiple of 1000 from 100000.");
  process.exit(2);
}
