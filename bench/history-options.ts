// The options of the small benchmark programs: number of trades and output file.
import { fileURLToPath } from "node:url";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { isPossibleSize } from "./data/make.ts";

/** Reads `--trades` and `--out` from the command line; ends the process if they are invalid. */
export function historyOptions(usage: string, usualOut: URL): { trades: number; out: string } {
  const { values } = readCommandLine({
    usage: `${usage}

  --trades N  how many trades, a multiple of 1000 from 100000; default 1000000
  --out FILE  where the result goes
  --help      show this`,
    options: {
      trades: { type: "string", default: "1000000" },
      out: { type: "string", default: fileURLToPath(usualOut) },
    },
  });
  const trades = Number(values.trades);
  if (isPossibleSize(trades)) return { trades, out: values.out };
  return refuse("--trades is a multiple of 1000 from 100000");
}
