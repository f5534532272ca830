// Runs a chain on 127.0.0.1, by CHAIN_PORT or on a free port, prints its URL, and ends with its stdin: a test that dies
// leaves no node behind.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";

// Hardhat writes a cache and artifacts wherever it runs.
const folder = mkdtempSync(join(tmpdir(), "chain-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const { network } = await createHardhatRuntimeEnvironment(
  {
    paths: { cache: join(folder, "cache"), artifacts: join(folder, "artifacts") },
    networks: {
      chain: {
        type: "edr-simulated",
        chainType: "l1",
        // Room for many transactions in one block, and the gas that a call may use up.
        blockGasLimit: 200_000_000,
        // Transactions of one block stand in the order in which they were sent.
        mining: { auto: true, mempool: { order: "fifo" } },
        allowBlocksWithSameTimestamp: true,
        // A client sees a failed transaction by its receipt, as on a real chain.
        throwOnTransactionFailures: false,
        ...(process.env.CHAIN_START && { initialDate: new Date(process.env.CHAIN_START) }),
      },
    },
  },
  {},
  import.meta.dirname,
);
const server = await network.createServer(
  { network: "chain" },
  "127.0.0.1",
  Number(process.env.CHAIN_PORT ?? 0),
);
const { port } = await server.listen();
process.stdout.write(`LISTENS http://127.0.0.1:${port}\n`);

process.stdin.on("end", () => process.exit()).resume();
process.on("SIGTERM", () => process.exit());
