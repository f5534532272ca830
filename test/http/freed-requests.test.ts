// What a request took is free again at the next collection of young objects.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A request takes some 10 kB until it is over. */
const MAX_BYTES = 400;

it("nothing of it is kept until a full collection", async () => {
  // In a process, since what other tests have left would keep more.
  const program = fileURLToPath(new URL("kept-of-requests.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(Number(stdout)).toBeLessThan(MAX_BYTES);
});
