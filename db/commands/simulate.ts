// `npm run simulate`: trades a simulated exchange into the database, or into the loader's files.
import { setTimeout as sleep } from "node:timers/promises";
import { abortOnSignals, readCommandLine, refuse } from "../command-line.ts";
import { progressBar, progressLine } from "../progress-line.ts";
import { ownerUrl } from "../locate.ts";
import { writeHistoryCsv } from "../simulate/write-csv.ts";
import { OtherDataError } from "../simulate/restore.ts";
import { holdingsOf, simulateHistory } from "../simulate/simulated-history.ts";
import { startLive } from "../simulate/live-trading.ts";
import {
  OptionError,
  OPTIONS,
  readOptions,
  USAGE,
  type SimulateOptions,
} from "../simulate/options.ts";

type Of<Mode> = Extract<SimulateOptions, { mode: Mode }>;

const line = progressLine(process.stderr);
/** How often trading live says how far it is, where there is no terminal. */
const SAID_EVERY_MS = 60_000;
const SLEEP_MS = 60_000;

const signal = abortOnSignals();

const { values } = readCommandLine({ usage: USAGE, options: OPTIONS });

try {
  await simulate(readOptions(values, new Date()));
} catch (error) {
  const { name, message } = error as Error;
  if (error instanceof OptionError) refuse(message);
  console.error(`simulate: ${message === "" ? name : message}`);
  process.exitCode = 1;
}

async function simulate(options: SimulateOptions): Promise<void> {
  if (options.mode === "live") await tradeLive(options);
  else if (options.csv === undefined) await writeHistory(options);
  else await writeFiles(options.csv, options);
}

async function writeFiles(folder: string, options: Of<"history">): Promise<void> {
  const { trades, offers } = await writeHistoryCsv(folder, {
    ...options,
    until: options.until ?? new Date(),
    onProgress: showProgress,
    signal,
  });
  line.clear();
  console.log(`${folder}: ${trades} trades, ${offers} offers, with their tokens and pairs.`);
}

async function writeHistory(options: Of<"history">): Promise<void> {
  const { trades, block, from, to } = await simulateHistory(await ownerUrl(process.env), {
    ...options,
    onProgress: showProgress,
    signal,
  });
  line.clear();
  console.log(`${trades} trades from ${from} to ${to}; the head is block ${block}.`);
}

async function tradeLive({ seed, rate, seconds }: Of<"live">): Promise<void> {
  const url = await ownerUrl(process.env);
  // What waiting does not cure is said at once.
  if ((await holdingsOf(url)) === "other") throw new OtherDataError();

  console.log(
    `Trading at ${rate} trades a second${seconds === undefined ? "; Ctrl-C ends it" : ` for ${seconds} s`}.`,
  );
  let blocks = 0;
  let said = performance.now();
  let trades = 0;
  const live = startLive(url, {
    seed,
    rate,
    onError: ({ message }) => console.error(`simulate: ${message}; trying again`),
    onBlock: (made) => {
      blocks += 1;
      trades += made.trades;
      const state = `block ${made.block}, ${made.time}: ${trades} trades in ${blocks} blocks`;
      line.show(state);
      // Without a terminal to show the line, the log has one a minute.
      if (process.stderr.isTTY || performance.now() - said < SAID_EVERY_MS) return;
      said = performance.now();
      console.log(state);
    },
  });
  await stopOrTime(seconds);
  await live.stop();
  line.clear();
  console.log(`${trades} trades in ${blocks} blocks.`);
}

async function stopOrTime(seconds = Infinity): Promise<void> {
  const end = performance.now() + 1000 * seconds;
  for (let left = 1000 * seconds; left > 0 && !signal.aborted; left = end - performance.now()) {
    // A timer takes 24 days at most.
    await sleep(Math.min(left, SLEEP_MS), undefined, { signal }).catch(() => undefined);
  }
}

function showProgress(done: number, total: number): void {
  line.show(`${progressBar(done, total)} trades`);
}
