// Runs the service as its user does: a process of its own, on any free port.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectionUrl, readConnection } from "../db/embedded/connection.ts";
import { isAlive } from "../db/embedded/process.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Service {
  pid: number;
  /** Where it answers, once it does; rejects with what it printed where it ends before. */
  url: Promise<string>;
  /** Resolves when it has printed this. */
  printed(text: RegExp): Promise<unknown>;
  /** What it has printed so far. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
}

/** Runs a file of the repository, or of a copy of it, with only these settings as environment. */
export function runFile(
  file: string,
  env: Record<string, string>,
  args: string[] = [],
  repository = REPOSITORY,
): Service {
  // Any folder: none of the files may depend on it.
  return run(process.execPath, [join(repository, file), ...args], tmpdir(), env);
}

/** Runs a script of package.json by npm, which stands between the user's signals and the process. */
export function runScript(
  script: string,
  env: Record<string, string>,
  folder = REPOSITORY,
): Service {
  return run("npm", ["run", script], folder, { HOME: tmpdir(), ...env });
}

/** Runs commands as a terminal does, in the repository or a copy of it. */
export function runShell(
  commands: string,
  env: Record<string, string>,
  repository = REPOSITORY,
): Service {
  return run("sh", ["-ec", commands], repository, { HOME: tmpdir(), ...env });
}

function run(program: string, args: string[], cwd: string, env: Record<string, string>): Service {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
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
  // Who does not ask for it is not told that there is none.
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

/** Starts the service; on any free port unless told which. */
export function startService(env: Record<string, string>, args: string[] = []): Service {
  return runFile(
    "server/main.ts",
    { PORT: "0", SIMULATE_RATE: "0", SEED_TRADES: "500", ...env },
    args,
  );
}

/** Folders for embedded databases. Whatever still runs in one when they are removed is stopped. */
export class DataDirs {
  readonly #folders: string[] = [];

  /** A DATA_DIR that does not exist yet, in a folder that every account can enter. */
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

/** The process number of the PostgreSQL that was last started in this DATA_DIR. */
export async function serverPid(dataDir: string): Promise<number | undefined> {
  const file = await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8").catch(() => "");
  return file === "" ? undefined : Number.parseInt(file, 10);
}

/** The superuser's URL of the database in this DATA_DIR. */
export async function embeddedUrl(dataDir: string): Promise<string> {
  const connection = await readConnection(dataDir);
  if (connection === undefined) throw new Error(`nothing was started in ${dataDir}`);
  return connectionUrl(connection);
}
