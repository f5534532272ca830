// Decides what the embedded database is filled with at a start, and fills it.
import { readConnection, writeConnection } from "../db/embedded/connection.ts";
import { catchUp, holdingsOf, simulateHistory } from "../db/simulate/history.ts";
import type { Config } from "./config.ts";

/** The simulated exchange of a given seed is the same on every machine. */
export const SEED = 1;

const HISTORY_DAYS = 30;

export interface SeedOptions {
  /** The superuser's, of the embedded database. */
  url: string;
  config: Pick<Config, "dataDir" | "embeddedSeed" | "seedTrades" | "simulateRate">;
  /** Ends the filling early; what was written stays, and the next start goes on from it. */
  signal: AbortSignal;
  log: (line: string) => void;
}

/**
 * Fills a new database with history, or brings a simulated one up to now. Resolves to whether the
 * simulated exchange is to go on trading in it.
 *
 * Only a database that a start has filled is ever traded into, which connection.json remembers: one
 * that was begun with EMBEDDED_SEED=none and loaded by hand is its user's, whatever it holds.
 */
export async function seedEmbedded(options: SeedOptions): Promise<boolean> {
  const { url, config, log } = options;
  if (config.embeddedSeed === "none") return false;
  const holdings = await holdingsOf(url);
  const connection = await readConnection(config.dataDir);
  const own = connection?.seed === "simulated";
  if (holdings === "other" || (holdings === "simulated" && !own)) {
    log("The database holds data that this service did not simulate: it is served as it is.");
    return false;
  }
  if (connection !== undefined && !own) {
    // Before the first trade: a filling that is interrupted is the service's own all the same.
    await writeConnection(config.dataDir, { ...connection, seed: "simulated" });
  }
  await (holdings === "empty" ? fill(options) : goOn(options));
  return config.simulateRate > 0;
}

async function fill({ url, config, signal, log }: SeedOptions): Promise<void> {
  log(`Filling it with ${HISTORY_DAYS} days of a simulated exchange …`);
  const { trades } = await simulateHistory(url, {
    seed: SEED,
    days: HISTORY_DAYS,
    trades: config.seedTrades,
    signal,
  });
  log(`It has ${trades} trades now.`);
}

async function goOn({ url, config, signal, log }: SeedOptions): Promise<void> {
  const made = await catchUp(url, { seed: SEED, rate: config.simulateRate, signal });
  if (made !== null)
    log(`The simulated exchange has made ${made.trades} trade(s) since ${made.from}.`);
}
