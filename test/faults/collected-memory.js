// Collects the garbage and prints what is left, in bytes and in resources such as sockets and timers, at each SIGUSR2.
// For a process with --expose-gc.
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

let times = 0;
process.on("SIGUSR2", async () => {
  // What has ended may be released a turn later.
  for (let n = 0; n < 5; n += 1) {
    globalThis.gc();
    await sleep(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  times += 1;
  const resources = process.getActiveResourcesInfo().length;
  const left = `${heapUsed + external} bytes, ${resources} resources`;
  process.stdout.write(`collected ${times} times: ${left}\n`);
});
