// Fills the embedded database at a start.
import { connect } from "../db/connect.ts";
import { readConnection, writeConnection } from "../db/embedded/connection-file.ts";
import { progressBar, type ProgressLine } from "../db/progress-line.ts";
import { catchUp, holdingsOf, simulateHistory } from "../db/simulate/simulated-history.ts";
import type { Config } from "./config.ts";

/** Equal seeds simulate equal exchanges on every machine. */
export const SEED = 1;

const HISTORY_DAYS = 30;
/** A first fill that was interrupted long ago must still end now. */
const MAX_DAYS = 3650;

export interface SeedOptions {
  /** The embedded database's superuser. */
  url: string;
  config: Pick<Config, "dataDir" | "seedTrades" | "simulateRate">;
  /** Ends the filling early; the next start continues it. */
  signal: AbortSignal;
  log: Record<"info" | "warn", (line: string) => void>;
  progress: ProgressLine;
}

/**
 * Fills a new database with history, finishes an interrupted history, or brings a simulated one up to now.
 * Resolves to whether the simulated exchange is to go on trading in it: only if a start has filled it, as
 * connection.json says. One that was started with SEED_TRADES=0 and loaded by hand is its user's.
 */
export async function seedEmbedded(options: SeedOptions): Promise<boolean> {
  const { url, config, log } = options;
  const connection = await readConnection(config.dataDir);
  const seed = connection?.seed;
  if (config.seedTrades === 0) {
    if (seed !== undefined) {
      log.warn(
        `DATA_DIR ${config.dataDir} holds the simulated exchange: it is served as it is, and other ` +
          "data cannot be loaded into it. For your own data, give another DATA_DIR.",
      );
    }
    return false;
  }
  const holdings = await holdingsOf(url);
  if (holdings === "other" || (holdings === "simulated" && seed === undefined)) {
    log.info("The database holds data that this service did not simulate: it is served as it is.");
    return false;
  }
  const isWhole = seed === "simulated" && holdings !== "empty";
  const begun = isWhole || holdings === "empty" ? 0 : await countTrades(url);
  // Before the first trade, so that the next start knows that the data are simulated.
  await writeSeed(config.dataDir, isWhole ? "simulated" : "filling");
  if (isWhole || begun >= config.seedTrades) await goOn(options);
  else await fill(options, begun);
  if (!options.signal.aborted) await writeSeed(config.dataDir, "simulated");
  return config.simulateRate > 0;
}

async function writeSeed(dataDir: string, seed: "filling" | "simulated"): Promise<void> {
  const connection = await readConnection(dataDir);
  if (connection === undefined || connection.seed === seed) return;
  await writeConnection(dataDir, { ...connection, seed });
}

/** Writes the trades that are missing from SEED_TRADES. */
async function fill(
  { url, config, signal, log, progress }: SeedOptions,
  begun: number,
): Promise<void> {
  const { seedTrades } = config;
  log.info(
    begun === 0
      ? `Filling it with ${HISTORY_DAYS} days of a simulated exchange …`
      : "Filling it with the rest of the simulated exchange: the first fill was interrupted …",
  );
  const { trades } = await simulateHistory(url, {
    seed: SEED,
    days: begun === 0 ? HISTORY_DAYS : MAX_DAYS,
    trades: seedTrades - begun,
    signal,
    onProgress: (done) => progress.show(`${progressBar(begun + done, seedTrades)} trades`),
  }).finally(progress.clear);
  log.info(`It has ${begun + trades} trades now.`);
}

async function countTrades(url: string): Promise<number> {
  await using client = await connect(url, { role: "dex_reader" });
  const { rows } = await client.query<{ trades: number }>(
    "select count(*)::int as trades from dex_trade",
  );
  return rows[0]?.trades ?? 0;
}

async function goOn({ url, config, signal, log }: SeedOptions): Promise<void> {
  const made = await catchUp(url, { seed: SEED, rate: config.simulateRate, signal });
  if (made !== null)
    log.info(`The simulated exchange has made ${made.trades} trade(s) since ${made.from}.`);
}
