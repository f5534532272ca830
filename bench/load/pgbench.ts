// Runs the same SQL with pgbench, which shows the limit of PostgreSQL alone.
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { urlForRole } from "../../db/connect.ts";
import type { Burst, Load } from "./client.ts";

const execute = promisify(execFile);

export interface BoundStatement {
  text: string;
  values: (string | number | null)[];
}

/** The output of `pgbench --version`; undefined if it is not installed. */
export async function pgbenchVersion(): Promise<string | undefined> {
  try {
    return (await execute("pgbench", ["--version"])).stdout.trim();
  } catch {
    return undefined;
  }
}

/**
 * Translates the statement for pgbench: $1 becomes :v1, and colons in literals are escaped, because pgbench
 * would read a variable in `HH24:MI`.
 */
export function pgbenchScript(text: string): string {
  return text
    .replace(/^\s*--.*$/gm, "")
    .replace(/'[^']*'/g, (literal) =>
      literal.includes(":") ? `E${literal.replaceAll(":", "\\x3a")}` : literal,
    )
    .replace(/\$(\d+)/g, ":v$1")
    .replace(/\s+/g, " ")
    .replace(/[; ]*$/, ";\n");
}

/** Runs pgbench as dex_reader with prepared statements. */
export async function runPgbench(
  url: string,
  { text, values }: BoundStatement,
  { connections, seconds }: Load,
): Promise<Burst> {
  const folder = await mkdtemp(join(tmpdir(), "dex-pgbench-"));
  try {
    await writeFile(join(folder, "script.sql"), pgbenchScript(text));
    const variables = values.flatMap((value, at) => ["-D", `v${at + 1}=${String(value)}`]);
    const time = String(Math.ceil(seconds));
    const { stdout } = await execute(
      "pgbench",
      // prettier-ignore
      [
        "--no-vacuum", "--protocol=prepared", "--client", String(connections), "--jobs", "1",
        "--time", time, "--file", join(folder, "script.sql"), "--log", "--log-prefix",
        join(folder, "log"), ...variables, urlForRole(url, "dex_reader"),
      ],
    );
    const rate = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    if (!(rate > 0)) throw new Error(`pgbench gave no rate: ${stdout}`);
    return { rate, latencies: await readLatencies(folder) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the latencies from pgbench's logs: the third column, in microseconds. */
async function readLatencies(folder: string): Promise<number[]> {
  const logs = (await readdir(folder)).filter((name) => name.startsWith("log"));
  const texts = await Promise.all(logs.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) =>
    text
      .trim()
      .split("\n")
      .map((line) => Number(line.split(" ")[2]) / 1000),
  );
}
