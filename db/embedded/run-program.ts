// Runs a program of PostgreSQL to its end, as the account that PostgreSQL runs as.
import { spawn } from "node:child_process";
import { basename } from "node:path";
import type { Account } from "./account.ts";

/**
 * Runs the program and resolves to what it printed. Throws with what it said when it fails. It is
 * in a separate process group: Ctrl-C in a terminal does not reach it.
 */
export function run(
  account: Account | undefined,
  program: string,
  args: string[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...account,
      // The caller's folder may be one that the account cannot enter.
      cwd: "/",
      env: { ...process.env, LC_ALL: "C" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else {
        const said = stderr.trim() || stdout.trim() || `exit ${code ?? signal ?? ""}`;
        reject(new Error(`${basename(program)} failed: ${said}`));
      }
    });
  });
}
