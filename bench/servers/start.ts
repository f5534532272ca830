// Starts what is measured, each server in a process of its own.
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface RunningServer {
  url: string;
  pid: number;
  /** Kilobytes of memory that the process has, and that it has had at most; undefined off Linux. */
  memory(): Promise<{ now: number; peak: number } | undefined>;
  /** Microseconds of processor time that all its threads have used; undefined off Linux. */
  processorTime(): Promise<number | undefined>;
  stop(): Promise<void>;
}

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export const PROGRAMS = {
  service: pathOf("../../server/main.ts"),
  plainPostgraphile: pathOf("plain-postgraphile-process.ts"),
  handWritten: pathOf("hand-written.ts"),
  sameBytes: pathOf("same-bytes.ts"),
  bareNode: pathOf("bare-node.ts"),
};

/** Starts one of the programs, and resolves once it says where it listens. */
export async function startServer(
  program: string,
  env: Record<string, string>,
): Promise<RunningServer> {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, HOST: "127.0.0.1", PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const look = (text: string): void => {
      said += text;
      // The service says it in a line of its log.
      const found = /(?:LISTENS +|GraphQL +)(http:\/\/[^/\s"]+)/.exec(said)?.[1];
      if (found === undefined) return;
      // What it logs from now on is taken from it, as a collector would, and left aside.
      child.stdout.off("data", look).resume();
      resolve(found);
    };
    child.stdout.setEncoding("utf8").on("data", look);
    child.once("error", reject);
    void ended.then(() => reject(new Error(`${program} ended before it listened: ${said}`)));
  });
  const pid = child.pid ?? 0;
  return {
    url,
    pid,
    memory: () => memoryOf(pid),
    processorTime: () => processorTimeOf(pid),
    async stop() {
      child.kill("SIGTERM");
      // The servers that are only compared have nothing to finish.
      const forced = setTimeout(() => child.kill("SIGKILL"), 5000);
      await ended;
      clearTimeout(forced);
    },
  };
}

/** Resident kilobytes of a process; undefined where the system does not say. */
export async function memoryOf(pid: number): Promise<{ now: number; peak: number } | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  return status.includes("VmRSS")
    ? { now: kilobytes("VmRSS"), peak: kilobytes("VmHWM") }
    : undefined;
}

async function processorTimeOf(pid: number): Promise<number | undefined> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const nanoseconds = await Promise.all(
    threads.map(async (thread) => {
      // "508395 337191 3": on a processor, waiting for one, and how often.
      const said = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "");
      return Number(said.split(" ")[0]);
    }),
  );
  const total = nanoseconds.reduce((sum, each) => sum + each, 0);
  return total > 0 ? total / 1000 : undefined;
}
