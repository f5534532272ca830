// Runs a program of PostgreSQL to its end, as the account that PostgreSQL runs as.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { text } from "node:stream/consumers";
import type { Account } from "./account.ts";

/**
 * Runs the program and resolves to what it printed. Throws with what it said when it fails. It is
 * in a separate process group: Ctrl-C in a terminal does not reach it.
 */
export async function run(
  account: Account | undefined,
  program: string,
  args: string[],
): Promise<string> {
  const child = spawn(program, args, {
    ...account,
    // The caller's folder may be one that the account cannot enter.
    cwd: "/",
    env: { ...process.env, LC_ALL: "C" },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended,
  ]);
  if (code === 0) return stdout;
  const said = stderr.trim() || stdout.trim() || `exit ${code ?? signal ?? ""}`;
  throw new Error(`${basename(program)} failed: ${said}`);
}
