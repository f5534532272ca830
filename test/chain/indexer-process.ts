// An indexer as a separate process, which can be killed, and how far a database has come.
import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TestDatabase } from "../database.ts";
import type { TestChain } from "./chain.ts";

const COMMAND = fileURLToPath(new URL("../../chain/commands/index-chain.ts", import.meta.url));

export interface Indexer {
  /** Rejects where it has ended by itself. */
  check(): Promise<void>;
  stop(): Promise<void>;
  /** At once: in the process by its signal, else by SIGKILL. */
  kill(): Promise<void>;
}

export function startIndexerProcess({ url }: TestDatabase, settings: NodeJS.ProcessEnv): Indexer {
  const child = spawn(process.execPath, [COMMAND], {
    env: { ...process.env, RPC_RATE: "10000", DATABASE_OWNER_URL: url, ...settings },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return {
    check() {
      if (child.exitCode !== null) {
        return Promise.reject(new Error(`the indexer ended with ${child.exitCode}: ${errors}`));
      }
      return Promise.resolve();
    },
    stop: () => end(child, "SIGTERM"),
    kill: () => end(child, "SIGKILL"),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.kill(signal);
  await closed;
}

/** Waits until the last block of the database is the chain's, and those up to `ranged` were read as final. */
export async function caughtUp(
  chain: TestChain,
  { owner }: TestDatabase,
  indexer: Pick<Indexer, "check">,
  ranged = -1,
): Promise<void> {
  for (;;) {
    await indexer.check();
    const { hash } = await chain.client.getBlock();
    const { rows } = await owner.query<{ hash: string }>(
      `select hash
      from dex_block
      where $1 <= (select coalesce(max(ranged_to), -1) from dex_private.index_source)
      order by number desc
      limit 1`,
      [ranged],
    );
    if (rows[0]?.hash === hash) return;
    await sleep(10);
  }
}
