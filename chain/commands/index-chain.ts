// `npm run index`: fills the database from an exchange's events, and follows the chain; or verifies a range.
import { readCommandLine } from "../../db/command-line.ts";
import { errorText, missingSchema } from "../../db/error-text.ts";
import { INTEGER } from "../../db/integer-text.ts";
import { LoadError } from "../../db/load/load-error.ts";
import { ownerUrl } from "../../db/locate.ts";
import { progressLine, type ProgressLine } from "../../db/progress-line.ts";
import { similarityWarnings } from "../../db/similar-settings.ts";
import { listen } from "../../http/listen.ts";
import { verifyRange } from "../comparing.ts";
import { kindNames } from "../exchanges/kinds.ts";
import { EXIT, Halt } from "../halt.ts";
import type { IndexerOptions } from "../indexer-options.ts";
import { runIndexer } from "../indexer.ts";
import { indexProgress } from "../index-progress.ts";
import {
  indexVariables,
  optionOf,
  readIndexSettings,
  type IndexSettings,
} from "../index-settings.ts";
import { IndexerStatus, statusServer } from "../index-status.ts";
import { readMarketFiles } from "../market-files.ts";

const USAGE = `Usage: npm run index -- --rpc URL[,URL…] --exchange 0x… --from-block N [options]

Fills the database with the offers, trades and cancellations of an exchange, from the events of its contract, and
follows the chain. Started again, it goes on from the last block that it has written.

  --rpc URL          RPC_URL         ${indexVariables.RPC_URL.description ?? ""}
  --exchange 0x…     EXCHANGE        the address of the exchange's contract, or KIND:0x…@BLOCK, or KIND:0x…@BLOCK/0.25%
                                     with the fee of its pools; several with commas; kinds: ${kindNames()}
  --from-block N     FROM_BLOCK      the block to begin with: the one in which the contract was made
  --finality N       FINALITY        blocks that the chain may take back; else what it calls finalized, or 64
  --taker WHO        TAKER           \`event\`, or \`sender\`: the sender of the transaction, by default where one
                                     of the contracts is a pool, for all trades
  --pairs FILE       PAIRS           markets beside those that the exchange lists, a CSV file as pairs.csv
  --token-list FILE  TOKEN_LIST      the tokens whose pairs are the markets: a JSON file by the Token Lists standard, or a
                                     CSV file as tokens.csv
  --quotes A,B       QUOTES          those of them that are quotes, the first one before all others
  --rpc-rate N       RPC_RATE        the most requests a second to the nodes (50)
  --rpc-timeout-ms N RPC_TIMEOUT_MS  how long one request may take (20000)
  --metrics-port N   INDEX_METRICS_PORT  serve /metrics and /ready on this port of HOST (127.0.0.1)
  --verify FROM TO                   compare these blocks in the database with the chain, and write nothing
  --help                             show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.
Exit codes: 0 stopped by a signal, or verified; 1 failed, or verified with differences; 2 wrong arguments; 3 the chain
has reorganised below what is final; 4 the node's answers contradict one another or the database.`;

const names = Object.keys(indexVariables);
const nameOf = (name: string): string => `--${optionOf(name)} (or ${name})`;
/** With those of the database, and of the address of its metrics. */
const ownNames = [
  ...names,
  "INDEX_METRICS_PORT",
  "HOST",
  "DATABASE_OWNER_URL",
  "DATABASE_URL",
  "DATA_DIR",
];
const METRICS_PORT = ["INDEX_METRICS_PORT", "metrics-port"];
const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: {
    ...Object.fromEntries(names.map((name) => [optionOf(name), { type: "string" } as const])),
    "metrics-port": { type: "string" },
    verify: { type: "boolean", default: false },
  },
  max: 2,
});

process.exitCode = await main();

async function main(): Promise<number> {
  for (const line of similarityWarnings(process.env, ownNames)) console.error(line);
  const request = readRequest();
  if ("problems" in request) {
    const advice = "`npm run index -- --help` shows what is accepted.";
    console.error([...request.problems, advice].join("\n"));
    return EXIT.usage;
  }
  const line = progressLine(process.stderr);
  try {
    return await run(request, line);
  } catch (error) {
    line.clear();
    const isForUser = error instanceof Halt || error instanceof LoadError;
    console.error(isForUser ? error.message : (missingSchema(error) ?? errorText(error)));
    return error instanceof Halt ? error.exitCode : EXIT.failed;
  }
}

interface Request {
  settings: IndexSettings;
  metricsPort: number | undefined;
  range: VerifiedRange | undefined;
}

/** What is asked for, by the command line and else by the environment. */
function readRequest(): Request | { problems: string[] } {
  const options = values as Record<string, string | boolean | undefined>;
  const given: Partial<Record<string, string>> = {};
  for (const [variable, option] of [...names.map((name) => [name, optionOf(name)]), METRICS_PORT]) {
    const value = options[option ?? ""] ?? process.env[variable ?? ""]?.trim();
    if (typeof value === "string" && value !== "") given[variable ?? ""] = value;
  }
  const settings = readIndexSettings(given, nameOf);
  const problems = "problems" in settings ? settings.problems : [];
  const port = given["INDEX_METRICS_PORT"];
  if (port !== undefined && !(INTEGER.test(port) && Number(port) <= 65_535)) {
    problems.push(
      `--metrics-port (or INDEX_METRICS_PORT): ${JSON.stringify(port)} is not an integer from 0 to 65535.`,
    );
  }
  const range = verifiedRange(values.verify, positionals);
  if (typeof range === "string") problems.push(range);
  if ("problems" in settings || typeof range === "string" || problems.length > 0) {
    return { problems };
  }
  return { settings, range, metricsPort: port === undefined ? undefined : Number(port) };
}

async function run({ settings, metricsPort, range }: Request, line: ProgressLine): Promise<number> {
  const stopping = new AbortController();
  // A second signal ends the process at once: a block is written whole or not at all.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(name, () => stopping.abort());
  const status = new IndexerStatus();
  const report = indexProgress({
    line,
    isTerminal: process.stderr.isTTY,
    info: console.log,
    warn: console.error,
  });
  const indexer: IndexerOptions = {
    ...settings,
    databaseUrl: await ownerUrl(process.env),
    ...(await readMarketFiles(settings, nameOf)),
    signal: stopping.signal,
    onEvent: (event) => {
      status.report(event);
      report(event);
    },
  };
  if (range !== undefined) return verify(indexer, range);
  if (metricsPort === undefined) {
    await runIndexer(indexer);
    return 0;
  }
  const server = statusServer(status);
  const host = process.env["HOST"] ?? "127.0.0.1";
  console.log(
    `Metrics ${await listen(server, { host, port: metricsPort, setting: "--metrics-port" })}/metrics`,
  );
  try {
    await runIndexer(indexer);
    return 0;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

interface VerifiedRange {
  from: number;
  to: number;
}

/** The blocks to verify, undefined for none, or what is wrong. */
function verifiedRange(
  isAsked: boolean,
  numbers: readonly string[],
): VerifiedRange | string | undefined {
  if (!isAsked) {
    const [first] = numbers;
    return first === undefined ? undefined : `Unexpected argument '${first}'.`;
  }
  const [from, to] = numbers.map((number) => (INTEGER.test(number) ? Number(number) : NaN));
  if (from === undefined || to === undefined || !(from <= to && to < 1e10)) {
    return "--verify takes two blocks, the first and the last: --verify 100 200.";
  }
  return { from, to };
}

async function verify(indexer: IndexerOptions, { from, to }: VerifiedRange): Promise<number> {
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
