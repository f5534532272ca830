// Starts each measured server as a process.
import { spawn, type ChildProcess } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface RunningServer {
  url: string;
  pid: number;
  /** Bytes of resident memory; NaN except on Linux. */
  memory(): Promise<number>;
  /** Microseconds of processor time used by all threads; NaN except on Linux. */
  processorTime(): Promise<number>;
  stop(): Promise<void>;
}

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export const PROGRAMS = {
  service: pathOf("../../server/main.ts"),
  plainPostgraphile: pathOf("plain-postgraphile.ts"),
  handWritten: pathOf("hand-written.ts"),
  sameBytes: pathOf("same-bytes.ts"),
  bareStream: pathOf("bare-stream.ts"),
  recordedNode: pathOf("../../test/chain/recorded/process.ts"),
};

const isService = (program: string): boolean => program.endsWith("/server/main.ts");

/** As `npm start` has it. */
const HEAP = ["--max-semi-space-size=16"];

/** None outlives this process, however that ends. */
const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts one of the programs; resolves when it prints its URL. */
export async function startServer(
  program: string,
  env: Record<string, string>,
): Promise<RunningServer> {
  const child = spawn(process.execPath, [...(isService(program) ? HEAP : []), program], {
    env: { ...process.env, HOST: "127.0.0.1", PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  void ended.then(() => running.delete(child));
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    const look = (text: string): void => {
      output += text;
      // The service prints its URL in a log line.
      const found = /(?:LISTENS +|GraphiQL +)(http:\/\/[^/\s"]+)/.exec(output)?.[1];
      if (found === undefined) return;
      // Keep reading its log, so that the pipe does not fill up.
      child.stdout.off("data", look).resume();
      resolve(found);
    };
    child.stdout.setEncoding("utf8").on("data", look);
    child.once("error", reject);
    void ended.then(() => reject(new Error(`${program} ended before it listened: ${output}`)));
  });
  const pid = child.pid ?? 0;
  return {
    url,
    pid,
    async memory() {
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]);
    },
    processorTime: () => processorTimeOf(pid),
    async stop() {
      child.kill("SIGTERM");
      // The other contenders have no graceful shutdown.
      const forced = setTimeout(() => child.kill("SIGKILL"), 5000);
      await ended;
      clearTimeout(forced);
    },
  };
}

export async function processorTimeOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const nanoseconds = await Promise.all(
    threads.map(async (thread) => {
      // "508395 337191 3": nanoseconds on a processor, nanoseconds waiting for one, number of slices.
      const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "");
      return Number(stat.split(" ")[0]);
    }),
  );
  const total = nanoseconds.reduce((sum, each) => sum + each, 0);
  return total > 0 ? total / 1000 : NaN;
}
