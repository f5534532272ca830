// `npm run index`: fills the database from an exchange's events, and follows the chain; or verifies a range.
import { readCommandLine } from "../../db/command-line.ts";
import { errorText, missingSchema } from "../../db/error-text.ts";
import { LoadError } from "../../db/load/load-error.ts";
import { ownerUrl } from "../../db/locate.ts";
import { progressLine } from "../../db/progress-line.ts";
import { matchingMarket } from "../exchanges/matching-market.ts";
import { readGivenMarkets } from "../given-markets.ts";
import { EXIT, Halt } from "../halt.ts";
import { runIndexer, type IndexerOptions } from "../indexer.ts";
import { indexProgress } from "../progress.ts";
import { indexVariables, optionOf, readIndexSettings } from "../settings.ts";
import { verifyRange } from "../verify.ts";

const USAGE = `Usage: npm run index -- --rpc URL[,URL…] --exchange 0x… --from-block N [options]

Fills the database with the offers, trades and cancellations of an exchange, from the events of its contract, and
follows the chain. Started again, it goes on from the last block that it has written.

  --rpc URL          RPC_URL         ${indexVariables.RPC_URL.description ?? ""}
  --exchange 0x…     EXCHANGE        the address of the exchange's contract
  --from-block N     FROM_BLOCK      the block to begin with: the one in which the contract was made
  --finality N       FINALITY        blocks that the chain may take back; else what it calls finalized, or 64
  --taker WHO        TAKER           \`event\`, or \`sender\`: the sender of the transaction
  --pairs FILE       PAIRS           markets beside those that the exchange lists, a CSV file as pairs.csv
  --rpc-rate N       RPC_RATE        the most requests a second to the nodes (50)
  --rpc-timeout-ms N RPC_TIMEOUT_MS  how long one request may take (20000)
  --verify FROM TO                   compare these blocks in the database with the chain, and write nothing
  --help                             show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.
Exit codes: 0 stopped by a signal, or verified; 1 failed, or verified with differences; 2 wrong arguments; 3 the chain
has reorganised below what is final; 4 the node's answers contradict one another or the database.`;

const names = Object.keys(indexVariables);
const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: {
    ...Object.fromEntries(names.map((name) => [optionOf(name), { type: "string" } as const])),
    verify: { type: "boolean", default: false },
  },
  most: 2,
});

process.exitCode = await main();

async function main(): Promise<number> {
  const options = values as Record<string, string | boolean | undefined>;
  const given = Object.fromEntries(
    names
      .map((name) => [name, options[optionOf(name)] ?? process.env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ""),
  ) as Record<string, string>;
  const settings = readIndexSettings(given, (name) => `--${optionOf(name)} (or ${name})`);
  const range = verifiedRange(values.verify, positionals);
  const problems = [
    ...("problems" in settings ? settings.problems : []),
    ...("problem" in range ? [range.problem] : []),
  ];
  if ("problems" in settings || "problem" in range) {
    console.error([...problems, "`npm run index -- --help` shows what is accepted."].join("\n"));
    return EXIT.usage;
  }
  const stopping = new AbortController();
  // A second signal ends the process as usual: a block is written whole or not at all.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(name, () => stopping.abort());
  const line = progressLine(process.stderr);
  try {
    const indexer: IndexerOptions = {
      ...settings,
      databaseUrl: await ownerUrl(process.env),
      decoder: matchingMarket,
      markets: settings.pairsFile === undefined ? [] : await readGivenMarkets(settings.pairsFile),
      signal: stopping.signal,
      onEvent: indexProgress({
        line,
        isTerminal: process.stderr.isTTY,
        info: console.log,
        warn: console.error,
      }),
    };
    if ("from" in range) return await verify(indexer, range);
    await runIndexer(indexer);
    return 0;
  } catch (error) {
    line.clear();
    if (error instanceof Halt) {
      console.error(error.message);
      return error.exitCode;
    }
    console.error(
      error instanceof LoadError ? error.message : (missingSchema(error) ?? errorText(error)),
    );
    return EXIT.failed;
  }
}

type VerifiedRange = { problem: string } | { from: number; to: number } | { isNone: true };

function verifiedRange(isAsked: boolean, numbers: readonly string[]): VerifiedRange {
  if (!isAsked) {
    const [first] = numbers;
    return first === undefined ? { isNone: true } : { problem: `Unexpected argument '${first}'.` };
  }
  const [from, to] = numbers.map((number) => (/^\d{1,10}$/.test(number) ? Number(number) : NaN));
  if (from === undefined || to === undefined || !(from <= to)) {
    return { problem: "--verify takes two blocks, the first and the last: --verify 100 200." };
  }
  return { from, to };
}

async function verify(
  indexer: IndexerOptions,
  { from, to }: { from: number; to: number },
): Promise<number> {
  let differences = 0;
  for await (const difference of verifyRange(indexer, from, to)) {
    differences += 1;
    console.log(difference);
  }
  console.log(
    differences === 0
      ? `Blocks ${from} to ${to} are in the database as on the chain.`
      : `${differences} difference(s) in blocks ${from} to ${to}.`,
  );
  return differences === 0 ? 0 : EXIT.failed;
}
