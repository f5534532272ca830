// Runs the service as a child process on a free port.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectionUrl, readConnection } from "../db/embedded/connection-file.ts";
import { isAlive } from "../db/embedded/process.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Service {
  pid: number;
  /** The base URL once the service is ready; rejects with the output if the process ends before. */
  url: Promise<string>;
  /** Resolves when stdout matches. */
  printed(text: RegExp): Promise<unknown>;
  /** stdout so far. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
}

/** Runs a file of the repository, or of a copy of it, with only these environment variables, and what finds and starts programs. */
export function runFile(
  file: string,
  env: Record<string, string>,
  args: string[] = [],
  repository = REPOSITORY,
): Service {
  // No file may depend on the working directory.
  return run(process.execPath, [join(repository, file), ...args], tmpdir(), env);
}

/** Runs a script of package.json with npm, which forwards the user's signals. */
export function runScript(
  script: string,
  env: Record<string, string>,
  folder = REPOSITORY,
): Service {
  return run("npm", ["run", script], folder, { HOME: tmpdir(), ...env });
}

/** Runs shell commands in the repository or a copy of it. */
export function runShell(
  commands: string,
  env: Record<string, string>,
  repository = REPOSITORY,
): Service {
  return run("sh", ["-ec", commands], repository, { HOME: tmpdir(), ...env });
}

function run(program: string, args: string[], cwd: string, env: Record<string, string>): Service {
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const child = spawn(program, args, {
    cwd,
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const waiting = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  const matched = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(stdout);
        if (match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`ended without ${pattern}:\n${stdout}${stderr}`)));
    });
  const url = matched(/GraphiQL\s+(http:\S+)\/graphiql/).then((match) => match[1] ?? "");
  // Not every test awaits it.
  url.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    url,
    printed: matched,
    output: () => stdout,
    signal: (signal) => void child.kill(signal),
    ended,
  };
}

/** For a service whose every answer has to be right: a slow machine is no database that is slow, locked or full. */
export const PATIENT = {
  POOL_WAIT_MS: "240000",
  POOL_HOLD_MS: "240000",
  STATEMENT_TIMEOUT_MS: "240000",
  LOCK_TIMEOUT_MS: "240000",
};

/** Starts the service, by default on a free port. */
export function startService(env: Record<string, string>, args: string[] = []): Service {
  return runFile(
    "server/main.ts",
    { PORT: "0", SIMULATE_RATE: "0", SEED_TRADES: "500", ...env },
    args,
  );
}

/** What /ready says, once the database has answered in time: on a machine that halts it may not. */
export async function readinessOf(url: string): Promise<{ status: number; reasons: string[] }> {
  for (;;) {
    const answer = await fetch(`${url}/ready`);
    const { reasons = [] } = (await answer.json()) as { reasons?: string[] };
    if (!reasons.some((reason) => reason.startsWith("The database has not answered within"))) {
      return { status: answer.status, reasons };
    }
  }
}

/** Folders for embedded databases; `remove` stops the servers that still run. */
export class DataDirs {
  readonly #folders: string[] = [];

  /** A DATA_DIR that does not exist yet, in a folder with access for every account. */
  async make(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "dex-data-"));
    await chmod(folder, 0o755);
    this.#folders.push(folder);
    return join(folder, "data");
  }

  async remove(): Promise<void> {
    for (const folder of this.#folders.splice(0)) {
      const pid = await serverPid(join(folder, "data"));
      if (pid !== undefined && (await isAlive(pid))) process.kill(pid, "SIGQUIT");
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  }
}

/** The process id of the PostgreSQL that was last started in this DATA_DIR. */
export async function serverPid(dataDir: string): Promise<number | undefined> {
  const file = await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8").catch(() => "");
  return file === "" ? undefined : Number.parseInt(file, 10);
}

/** The superuser's URL of the database in this DATA_DIR. */
export async function embeddedUrl(dataDir: string): Promise<string> {
  const connection = await readConnection(dataDir);
  if (connection === undefined) throw new Error(`no PostgreSQL was started in ${dataDir}`);
  return connectionUrl(connection);
}
